/* A second opinion: the Tool Help calls in plain C, without anything of ours.

   plain_walk PID   prints the processes and threads of the system and the modules of PID, a line
                    each of decimal numbers and hexadecimal UTF-16
   plain_walk       waits until its standard input ends */
#include <windows.h>
#include <tlhelp32.h>

#include <stdio.h>
#include <stdlib.h>

static void put_text(const WCHAR *text) {
  printf(" ");
  if (!*text)
    printf("-");
  for (; *text; text++)
    printf("%04x", (unsigned)*text);
}

static HANDLE take(DWORD flags, DWORD pid) {
  HANDLE snapshot = CreateToolhelp32Snapshot(flags, pid);
  if (snapshot == INVALID_HANDLE_VALUE)
    exit((int)GetLastError());
  return snapshot;
}

static void walk(DWORD pid) {
  PROCESSENTRY32W process = {.dwSize = sizeof process};
  THREADENTRY32 thread = {.dwSize = sizeof thread};
  MODULEENTRY32W module = {.dwSize = sizeof module};
  HANDLE snapshot = take(TH32CS_SNAPPROCESS | TH32CS_SNAPTHREAD, 0);
  for (BOOL more = Process32FirstW(snapshot, &process); more;
       more = Process32NextW(snapshot, &process)) {
    printf("p %lu %lu %lu %ld", process.th32ProcessID, process.th32ParentProcessID,
           process.cntThreads, process.pcPriClassBase);
    put_text(process.szExeFile);
    printf("\n");
  }
  for (BOOL more = Thread32First(snapshot, &thread); more; more = Thread32Next(snapshot, &thread))
    printf("t %lu %lu %ld\n", thread.th32ThreadID, thread.th32OwnerProcessID, thread.tpBasePri);
  CloseHandle(snapshot);
  snapshot = take(TH32CS_SNAPMODULE | TH32CS_SNAPMODULE32, pid);
  for (BOOL more = Module32FirstW(snapshot, &module); more;
       more = Module32NextW(snapshot, &module)) {
    printf("m %lu %llu %lu", module.th32ProcessID,
           (unsigned long long)(ULONG_PTR)module.modBaseAddr, module.modBaseSize);
    put_text(module.szModule);
    put_text(module.szExePath);
    printf("\n");
  }
  CloseHandle(snapshot);
}

int main(int count, char **words) {
  if (count > 1)
    walk((DWORD)strtoul(words[1], NULL, 10));
  else
    while (getchar() != EOF)
      ;
  return 0;
}
