import { createHash } from 'node:crypto'
import type { TaskVariant } from '../../core/task-kind.js'
import type { Call } from '../call.js'
import type { ContentRequest } from './content-relay.js'
import type { Task } from './record.js'

/**
 * What the client wants of the content. A result never changes, so its tag is ours: it holds whatever the server behind us
 * says. Undefined where the client has it already and has been told so (RFC 9110 §13).
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
  // A range of something else is of no use; dates are not compared.
  const wanted = range !== undefined && (condition === undefined || condition === tag)
  return { tag, cached, head: method === 'HEAD', headers: wanted ? ['range', range] : [] }
}

/** What is there before the end is replaced by something else. */
function versionOf({ finished, artifacts }: Task): string {
  return finished === undefined ? JSON.stringify(artifacts) : String(finished)
}

/** Whoever fetched it may keep it, and nobody else. */
const CACHED = 'private, max-age=86400'

function matches(header: string | undefined, tag: string): boolean {
  if (header === undefined) return false
  return header.split(',').some(one => one.trim() === '*' || one.trim().replace(/^W\//, '') === tag)
}
