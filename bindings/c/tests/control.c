/* Faults of which each must end the program with an error, or the checker that is on sees nothing:
 *
 *   control heap       reads past an allocation        (address sanitizer, valgrind)
 *   control freed      reads what was freed            (address sanitizer, valgrind)
 *   control leak       loses an allocation             (address sanitizer, valgrind)
 *   control overflow   adds one to the largest int     (undefined-behaviour sanitizer)
 *   control guard      reads a page that nobody may    (every build)
 */
#define _DEFAULT_SOURCE
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

int main(int argc, char **argv) {
  const char *fault = argc > 1 ? argv[1] : "";
  char *volatile bytes = malloc(16);
  volatile int sum = INT_MAX;
  if (!bytes) return 2;
  memset(bytes, 1, 16);
  if (!strcmp(fault, "heap")) {
    sum = bytes[16];
  } else if (!strcmp(fault, "freed")) {
    free(bytes);
    sum = bytes[3];
    bytes = NULL;
  } else if (!strcmp(fault, "leak")) {
    bytes = NULL;
  } else if (!strcmp(fault, "overflow")) {
    sum = sum + argc;
  } else if (!strcmp(fault, "guard")) {
    char *volatile page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    sum = page == MAP_FAILED ? 0 : page[0];
  }
  free(bytes);
  return 0;
}
