import { existsSync, readFileSync } from 'node:fs'

/** Numbers of the processes that a process has started; none where the system does not tell. */
export function childrenOf(pid = 0): readonly number[] {
  const list = `/proc/${pid}/task/${pid}/children`
  return existsSync(list) ? readFileSync(list, 'utf8').split(' ').filter(Boolean).map(Number) : []
}
