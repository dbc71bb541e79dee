import { createHash } from 'node:crypto'
import type { TaskVariant } from '../../core/task-kind.js'
import type { Call } from '../../kernel/call.js'
import type { ContentRequest } from './content-relay.js'
import type { Task } from './record.js'

/**
 * What the client wants of the content. A result never changes, so the gateway makes its entity tag and ignores the
 * upstream's. Undefined if the client has the content already and was answered 304 (RFC 9110 §13).
 */
export function conditions(call: Call, task: Task, name: string, _variant: TaskVariant): ContentRequest | undefined {
  const { headers, method } = call.request
  const tag = `"${createHash('sha256')
    .update(`${task.id} ${name} ${versionOf(task)}`)
    .digest('hex')
    .slice(0, 32)}"`
  const cached = task.finished === undefined ? 'private, no-cache' : CACHED
  if (matches(headers['if-none-match'], tag)) {
    call.begin(304, ['etag', tag, 'cache-control', cached])
    call.end()
    return undefined
  }
  const { range } = headers
  const condition = headers['if-range']
  // If-Range with another tag: send the whole content. Dates are not compared. Several ranges get the whole, too.
  const wanted = range !== undefined && ONE_RANGE.test(range) && (condition === undefined || condition === tag)
  return { tag, cached, head: method === 'HEAD', headers: wanted ? ['range', range] : [] }
}

/** A result that appears before the end may be replaced, so its version is its artefacts. */
function versionOf({ finished, artifacts }: Task): string {
  return finished === undefined ? JSON.stringify(artifacts) : String(finished)
}

/** One range of bytes, with a beginning or an end (RFC 9110 §14.1.2). */
const ONE_RANGE = /^bytes=(\d+-\d*|-\d+)$/
/** Only the client's own cache may keep it, not shared ones. */
const CACHED = 'private, max-age=86400'

function matches(header: string | undefined, tag: string): boolean {
  if (header === undefined) return false
  return header.split(',').some(one => one.trim() === '*' || one.trim().replace(/^W\//, '') === tag)
}
