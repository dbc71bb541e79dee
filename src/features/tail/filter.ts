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

/** Of a status, as a pattern of JSON Schema. */
export const STATUS_PATTERN = String.raw`^[1-5](xx|\d\d)$`
const STATUS = new RegExp(STATUS_PATTERN)

export const isStatus = (text: string): boolean => STATUS.test(text)
export const isMilliseconds = (text: string): boolean => /^\d{1,9}$/.test(text)

/** What is wrong with the texts of a filter; undefined: nothing. */
export function faultOf(status: string | undefined, slow: string | undefined): string | undefined {
  if (status !== undefined && !isStatus(status)) return 'status is a number such as 404, or a class such as 5xx'
  if (slow !== undefined && !isMilliseconds(slow)) return 'slow is a number of milliseconds'
  return undefined
}

export function matches({ key, model, status, slow }: TailFilter, entry: RequestEntry): boolean {
  if (key !== undefined && entry.key !== key) return false
  if (model !== undefined && entry.model !== model) return false
  if (slow !== undefined && entry.milliseconds.total < slow) return false
  if (status === undefined) return true
  const own = String(entry.status)
  return status.endsWith('xx') ? own.startsWith(status.slice(0, 1)) : own === status
}
