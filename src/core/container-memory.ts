import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Where a version of Linux's control groups says what a group holds, and by which names. */
interface Version {
  readonly group: RegExp
  readonly folder: string
  readonly held: RegExp
}

/** https://docs.kernel.org/admin-guide/cgroup-v1/memory.html, and cgroup-v2.html: `memory.stat`. Where both are, the first counts memory. */
const VERSIONS: readonly Version[] = [
  {
    group: /^\d+:(?:.*,)?memory(?:,.*)?:(.*)$/m,
    folder: 'sys/fs/cgroup/memory',
    held: /^total_(?:rss|shmem) (\d+)$/gm,
  },
  { group: /^0::(.*)$/m, folder: 'sys/fs/cgroup', held: /^(?:anon|shmem) (\d+)$/gm },
]

/**
 * Reads how many bytes all processes of this container hold. Files that the system keeps in memory for them do not count, such as
 * those of the store: it drops them when others need the room. Undefined where the system does not say.
 */
export function containerMemory(root = '/'): (() => number | undefined) | undefined {
  const groups = textOf(join(root, 'proc/self/cgroup')) ?? ''
  for (const { group, folder, held } of VERSIONS) {
    const [, path] = group.exec(groups) ?? []
    if (path === undefined) continue
    // A container may see its own group alone, under another name than the system's.
    const files = [path, ''].map(name => join(root, folder, name, 'memory.stat'))
    const file = files.find(one => textOf(one) !== undefined)
    return file === undefined ? undefined : () => sum(textOf(file)?.matchAll(held))
  }
  return undefined
}

function sum(found: Iterable<RegExpExecArray> | undefined): number | undefined {
  return found && Array.from(found, ([, bytes]) => Number(bytes)).reduce((all, one) => all + one, 0)
}

function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'latin1')
  } catch {
    return undefined
  }
}
