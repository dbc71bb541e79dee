import type { Test } from 'tap'
import { chunk, finish, head, json, LAST_CHUNK } from './answers.js'
import { relaysAnything } from './emitted.js'
import { compatibleReplays, type Replay } from './exchanges.js'
import { CALLER, startTestGateway, upstreamYaml } from './gateway.js'
import type { Answer } from './raw-client.js'
import { type Script, startRawUpstream } from './raw-upstream.js'
import { recordingsFile } from './recordings.js'

// What clients of the past sent goes through as it is; not all of it is what documents of today allow.
relaysAnything()

/** All recorded exchanges of the compatible routes; none (said aloud) where the recordings are not here. */
export async function replaysOrNone(): Promise<readonly Replay[]> {
  const file = recordingsFile()
  return file === undefined ? [] : compatibleReplays(file)
}

export interface Stage {
  /** Sends the recorded request while the upstream plays this script; undefined where no answer came. */
  play(replay: Replay, script: Script): Promise<Answer | undefined>
  /** Recordings whose request never went upstream: the gateway refused it itself. */
  readonly refused: ReadonlySet<Replay>
}

/** One gateway for many exchanges at once: the request id tells the upstream which script is whose. */
export async function stage(t: Test): Promise<Stage> {
  const upstream = await startRawUpstream(t)
  const scripts = new Map<string, Script>()
  upstream.answer(peer => scripts.get(peer.request.header('x-request-id') ?? '')?.(peer))
  const upstreams = `upstreams: { up: ${upstreamYaml(upstream.origin, 'members: { provider: pass, preset: pass }')} }`
  const yaml = `version: 1\n${CALLER}\n${upstreams}\nmodels: { "*": up }\nlog: { level: error }\n`
  const gateway = await startTestGateway(t, yaml)
  const refused = new Set<Replay>()
  const uploads = new Map<string, Promise<unknown>>()
  let count = 0
  // What a recorded request names was uploaded once: here by this very caller.
  const own = (file: string): Promise<unknown> => {
    const before = uploads.get(file)
    if (before !== undefined) return before
    const upload = uploaded(file)
    uploads.set(file, upload)
    return upload
  }
  const uploaded = async (file: string): Promise<void> => {
    const id = `upload-${file}`
    scripts.set(id, json({ id: file, object: 'file', created_at: 1, bytes: 1, filename: 'f', purpose: 'user_data' }))
    await gateway.request('/v1/files', { body: 'x', headers: { 'x-request-id': id } })
    scripts.delete(id)
  }
  const play: Stage['play'] = async (replay, script) => {
    const asked = requestOf(replay)
    for (const [, file = ''] of JSON.stringify(asked).matchAll(/"file_id":"(file-\w+)"/g)) await own(file)
    count += 1
    const id = `replay-${count}`
    let sent: string | undefined
    scripts.set(id, peer => {
      sent = peer.request.body.toString()
      return script(peer)
    })
    const answer = await gateway
      .request(replay.path, { body: asked, headers: { 'x-request-id': id } })
      .catch(() => undefined)
    scripts.delete(id)
    upstream.requests.items.length = 0
    if (sent === undefined) refused.add(replay)
    else if (sent !== JSON.stringify(asked)) throw new Error(`${replay.name}: other bytes went out`)
    return answer
  }
  return { play, refused }
}

/** What is asked: a chat completion that the gateway stores has an id of its own, and its upstream hears nothing of that. */
function requestOf({ path, request }: Replay): Replay['request'] {
  return path === '/v1/chat/completions' && request.store === true ? { ...request, store: false } : request
}

/** The recorded answer, its body in the given pieces, ended by a last chunk or by the end of the connection. */
export function pieces({ status, type }: Replay, parts: readonly Buffer[], end: 'chunk' | 'fin' = 'chunk'): Script {
  return async peer => {
    await peer.send(head(status, { 'content-type': type, 'transfer-encoding': 'chunked' }))
    for (const part of parts) if (part.length > 0) await peer.send(chunk(part))
    if (end === 'chunk') await peer.send(LAST_CHUNK)
    else await finish(peer)
  }
}

/** What the client has to see, or nothing where the gateway answers in its own words. */
export function expected({ status, path, body }: Replay): Buffer | undefined {
  // Refusals of the gateway's own credential are never shown.
  if (status === 401 || status === 403) return undefined
  // Some end this protocol's streams a second time, as they end others: what follows the end is dropped.
  const second = path === '/v1/responses' ? body.lastIndexOf('data: [DONE]') : -1
  return second === -1 ? body : body.subarray(0, second)
}

/** Runs `work` over all items, a few at a time, and gathers what it has to complain about. */
export async function complaints<T>(
  items: readonly T[],
  work: (item: T, index: number) => Promise<string | undefined>,
): Promise<string[]> {
  const found: string[] = []
  let next = 0
  const worker = async (): Promise<void> => {
    while (next < items.length) {
      const index = next
      next += 1
      const complaint = await work(items[index] as T, index)
      if (complaint !== undefined) found.push(complaint)
    }
  }
  await Promise.all(Array.from({ length: 4 }, worker))
  return found.length > 8 ? [...found.slice(0, 8), `and ${found.length - 8} more`] : found
}

export function groupBy<T>(all: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>()
  for (const item of all) {
    const group = groups.get(keyOf(item))
    if (group === undefined) groups.set(keyOf(item), [item])
    else group.push(item)
  }
  return groups
}

/** The shortest stream of each protocol. */
export function shortestOfEach(streams: readonly Replay[]): Replay[] {
  return [...groupBy(streams, ({ path }) => path).values()].flatMap(group =>
    group.sort((a, b) => a.body.length - b.body.length).slice(0, 1),
  )
}
