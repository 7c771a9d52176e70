/* Runs a fuzz target over the files named on the command line, without libFuzzer. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int run(const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file || fseek(file, 0, SEEK_END) != 0) {
    fprintf(stderr, "cannot read %s\n", path);
    return 1;
  }
  long size = ftell(file);
  rewind(file);
  /* Of exactly that size, so that a sanitizer sees one byte too far. */
  uint8_t *bytes = malloc(size > 0 ? (size_t)size : 1);
  int failed = !bytes || fread(bytes, 1, (size_t)size, file) != (size_t)size;
  fclose(file);
  if (!failed)
    LLVMFuzzerTestOneInput(bytes, (size_t)size);
  free(bytes);
  return failed;
}

int main(int argc, char **argv) {
  int failed = 0;
  for (int i = 1; i < argc; i++)
    failed |= run(argv[i]);
  printf("%d files\n", argc - 1);
  return failed;
}
