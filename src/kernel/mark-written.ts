import type { ServerResponse } from 'node:http'

/**
 * Marks a response that has no socket of its own as written to its end. Older versions of Node read that from `finished`,
 * newer ones from what only they can set.
 */
export function markWritten(response: ServerResponse): void {
  response.finished = true
  Object.defineProperty(response, 'writableFinished', { value: true })
}
