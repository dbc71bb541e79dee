/** Most processes of one gateway; `auto` stops here, too. */
export const MAX_WORKERS = 64

/** `auto`: as many as this process may use cores. */
export type WorkerCount = number | 'auto'

/** Undefined for another text. */
export function workerCount(text: string): WorkerCount | undefined {
  if (text === 'auto') return text
  const count = /^\d{1,3}$/.test(text) ? Number(text) : 0
  return count >= 1 && count <= MAX_WORKERS ? count : undefined
}
