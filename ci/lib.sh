# Shared by the scripts beside it; sourced, not run.

# Whether valgrind is there, or could be installed. Says so where it is not.
need_valgrind() {
  if command -v valgrind > /dev/null; then return 0; fi
  if [[ $(id -u) == 0 ]] && command -v apt-get > /dev/null; then
    echo "valgrind is missing: installing it"
    if apt-get install -y -q valgrind > /dev/null 2>&1 || { apt-get update -q > /dev/null 2>&1 && apt-get install -y -q valgrind > /dev/null 2>&1; }; then
      return 0
    fi
  fi
  echo "SKIPPED: valgrind is missing and could not be installed, so instructions were not counted"
  return 1
}
