import type { RequestEntry } from '../../core/entry.js'

/** Which requests a reader wants; absent members do not restrict. */
export interface TailFilter {
  readonly key?: string
  /** By its name for clients. */
  readonly model?: string
  /** `404`, or `5xx`. */
  readonly status?: string
  /** Those that took at least so long, milliseconds. */
  readonly slow?: number
}

export function matches({ key, model, status, slow }: TailFilter, entry: RequestEntry): boolean {
  if (key !== undefined && entry.key !== key) return false
  if (model !== undefined && entry.model !== model) return false
  if (slow !== undefined && entry.milliseconds.total < slow) return false
  if (status === undefined) return true
  const own = String(entry.status)
  return status.endsWith('xx') ? own.startsWith(status.slice(0, 1)) : own === status
}
