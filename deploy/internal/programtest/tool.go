package programtest

// ToolLibrary is C for the library of a vendor's tool that is dynamically linked, as
// the real ones are: it prints a file, and says by 3 that there is none.
const ToolLibrary = `#include <stdio.h>
int print_answer(const char *dir, const char *name) {
	char path[4096];
	snprintf(path, sizeof path, "%s/%s", dir, name);
	FILE *f = fopen(path, "r");
	int c;
	if (!f) return 3;
	while ((c = fgetc(f)) != EOF) putchar(c);
	return 0;
}
`
