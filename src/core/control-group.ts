import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** What a process may use of its machine, as Linux bounds it: a container, or a unit of systemd. */
interface ControlGroup {
  /** Of the control groups; where a system has both, the first one bounds what it knows. */
  readonly version: 1 | 2
  /** The text of one of its files; undefined where it is not there. */
  read(name: string): string | undefined
}

/** Undefined where the system does not say. https://docs.kernel.org/admin-guide/cgroup-v2.html */
export function controlGroup(controller: 'cpu' | 'memory', root = '/'): ControlGroup | undefined {
  const groups = textOf(join(root, 'proc/self/cgroup')) ?? ''
  const first = new RegExp(`^\\d+:(?:[^:]*,)?${controller}(?:,[^:]*)?:(.*)$`, 'm').exec(groups)
  const [, path] = first ?? /^0::(.*)$/m.exec(groups) ?? []
  if (path === undefined) return undefined
  const all = join(root, 'sys/fs/cgroup', first === null ? '' : controller)
  // A container may see its own group alone, under another name than the system's.
  const folder = existsSync(join(all, path)) ? join(all, path) : all
  return { version: first === null ? 2 : 1, read: name => textOf(join(folder, name)) }
}

function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'latin1')
  } catch {
    return undefined
  }
}
