import { randomBytes } from 'node:crypto'
import type t from 'tap'

type Kind = 'caller' | 'upstream'

type Where = 'log' | 'client' | 'upstream'

const canaries = new Map<string, Kind>()
const leaks = new Set<string>()
const seen: Record<Where, Buffer[]> = { log: [], client: [], upstream: [] }
const gathered: Record<Where, number> = { log: 0, client: 0, upstream: 0 }

/** Bytes that are gathered before they are searched. */
const BATCH = 4 * 1024 * 1024

/** A secret that exists nowhere else, so that finding it anywhere is proof of a leak. */
export function canary(kind: Kind): string {
  const secret = `canary-${kind}-${randomBytes(16).toString('hex')}`
  canaries.set(secret, kind)
  return secret
}

/** Notes bytes that left the gateway, for {@link proveNoLeak}. */
export function witness(where: Where, bytes: Uint8Array): void {
  seen[where].push(Buffer.from(bytes))
  gathered[where] += bytes.length
  if (gathered[where] > BATCH) search(where)
}

/** Last test of a file: no secret is in a log line or in an answer, no caller's key went to an upstream. */
export function proveNoLeak(root: typeof t): void {
  root.test('F-D2 no secret of this file shows in a log line or an answer, no caller key went upstream', async t => {
    for (const where of ['log', 'client', 'upstream'] as const) search(where)
    t.same([...leaks], [])
  })
}

function search(where: Where): void {
  const bytes = Buffer.concat(seen[where])
  for (const [secret, kind] of canaries)
    if ((where !== 'upstream' || kind === 'caller') && bytes.includes(secret)) leaks.add(`${where}: ${secret}`)
  seen[where] = [bytes.subarray(-256)]
  gathered[where] = 0
}
