import { controlGroup } from './control-group.js'

/** Names in `memory.stat`, by the version of the control groups. */
const HELD = { 1: /^total_(?:rss|shmem) (\d+)$/gm, 2: /^(?:anon|shmem) (\d+)$/gm }

/**
 * Reads how many bytes all processes of this container hold. Files that the system keeps in memory for them do not count, such as
 * those of the store: it drops them when others need the room. Undefined where the system does not say.
 */
export function containerMemory(root = '/'): () => number | undefined {
  const group = controlGroup('memory', root)
  return () => {
    const text = group?.read('memory.stat')
    if (group === undefined || text === undefined) return undefined
    return Array.from(text.matchAll(HELD[group.version]), ([, bytes]) => Number(bytes)).reduce(
      (all, one) => all + one,
      0,
    )
  }
}
