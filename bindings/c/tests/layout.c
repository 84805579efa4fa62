/* The layout that ABI version 1 guarantees with 8-byte pointers. */
#include "test.h"

#define AT(type, field, offset) _Static_assert(offsetof(type, field) == (offset), #type "." #field)
#define SIZE(type, size) _Static_assert(sizeof(type) == (size), #type)

#if UINTPTR_MAX == UINT64_MAX
SIZE(toolglot_view, 16);
AT(toolglot_view, ptr, 0);
AT(toolglot_view, len, 8);
SIZE(toolglot_event, 64);
AT(toolglot_event, kind, 0);
AT(toolglot_event, flags, 4);
AT(toolglot_event, call, 8);
AT(toolglot_event, code, 12);
AT(toolglot_event, data, 16);
AT(toolglot_event, aux, 32);
AT(toolglot_event, start, 48);
AT(toolglot_event, end, 56);
SIZE(toolglot_batch, 32);
AT(toolglot_batch, events, 0);
AT(toolglot_batch, len, 8);
AT(toolglot_batch, held, 16);
AT(toolglot_batch, position, 24);
SIZE(toolglot_marker, 40);
AT(toolglot_marker, text, 0);
AT(toolglot_marker, dialect, 16);
AT(toolglot_marker, role, 32);
SIZE(toolglot_detail, 32);
AT(toolglot_detail, key, 0);
AT(toolglot_detail, value, 16);
SIZE(toolglot_call, 104);
AT(toolglot_call, name, 0);
AT(toolglot_call, arguments, 16);
AT(toolglot_call, dialect, 32);
AT(toolglot_call, kinds, 48);
AT(toolglot_call, details, 64);
AT(toolglot_call, details_len, 72);
AT(toolglot_call, start, 80);
AT(toolglot_call, end, 88);
AT(toolglot_call, flags, 96);
AT(toolglot_call, index, 100);
SIZE(toolglot_issue, 72);
AT(toolglot_issue, code, 0);
AT(toolglot_issue, flags, 4);
AT(toolglot_issue, message, 8);
AT(toolglot_issue, observation, 24);
AT(toolglot_issue, dialect, 40);
AT(toolglot_issue, start, 56);
AT(toolglot_issue, end, 64);
#endif

int main(void) {
  CHECK(strcmp(TOOLGLOT_VERSION, toolglot_version()) == 0);
  CHECK(TOOLGLOT_ABI_VERSION == toolglot_abi_version());
  return done("layout");
}
