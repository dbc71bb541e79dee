/** Longest wait that is believed and passed on, milliseconds. */
export const MAX_WAIT_MS = 3_600_000

/** `retry-after-ms`, or `retry-after` in seconds or as a date (RFC 9110 §10.2.3), in milliseconds. */
export function retryAfter(headers: Readonly<Record<string, unknown>>): number | undefined {
  const exact = Number(headers['retry-after-ms'] ?? Number.NaN)
  if (Number.isFinite(exact) && exact >= 0) return Math.min(exact, MAX_WAIT_MS)
  const header = headers['retry-after']
  if (typeof header !== 'string') return undefined
  const seconds = Number(header)
  const wait = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(header) - Date.now()
  return Number.isFinite(wait) ? Math.min(Math.max(wait, 0), MAX_WAIT_MS) : undefined
}
