import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** Only Linux shows other processes' working directories and environments as files. */
export const hasProc = process.platform === 'linux';

/** The processes that run in a folder or were started with its path. */
export function processesIn(folder: string): number[] {
  return allProcesses().filter((pid) => {
    const [cwd, line] = [linkOf(pid, 'cwd'), textOf(pid, 'cmdline')];
    return `${cwd}/`.startsWith(`${folder}/`) || line?.includes(folder);
  });
}

/** The programs, other than Node.js, whose environment holds one of these texts. @param others processes to leave out */
export function programsThatSee(texts: readonly string[], others: readonly number[]): string[] {
  return allProcesses().flatMap((pid) => {
    if (others.includes(pid)) return [];
    // Read first: until a new process has become the program, it still shows the environment of its parent.
    const program = linkOf(pid, 'exe');
    if (program === undefined || program === process.execPath) return [];
    const environment = textOf(pid, 'environ') ?? '';
    return texts.some((text) => environment.includes(text)) ? [program] : [];
  });
}

export function allProcesses(): number[] {
  return readdirSync('/proc').map(Number).filter(Number.isInteger);
}

function linkOf(pid: number, name: string): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/${name}`);
  } catch {
    return undefined;
  }
}

function textOf(pid: number, name: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8').replaceAll('\0', ' ');
  } catch {
    return undefined;
  }
}
