import { type Recording, readRecordings } from './recordings.js'

/** A recorded exchange that one of the compatible routes relays. */
export interface Replay {
  readonly name: string
  readonly path: string
  readonly provider: string
  readonly request: Readonly<Record<string, unknown>>
  readonly status: number
  readonly type: string
  readonly body: Buffer
  readonly stream: boolean
  /** Whether the stream ends as its protocol says, or with an error. */
  readonly finished: boolean
}

/** Streams that end without the event that their protocol ends with: what is there arrives, and then an error. */
const UNFINISHED: readonly string[] = [
  // No [DONE] after the last chunk.
  'ruby_llm/spec/fixtures/vcr_cassettes/chat_streaming_responses_perplexity_sonar_supports_streaming_responses.yml #0',
]

const PATHS =
  /\/(audio\/speech|chat\/completions|images\/generations|completions|embeddings|moderations|rerank|responses)$/

/** What the recordings hold for the compatible routes, no matter who the provider was. */
export async function compatibleReplays(file: string): Promise<Replay[]> {
  const replays: Replay[] = []
  for await (const recording of readRecordings(file)) {
    const replay = replayOf(recording)
    if (replay !== undefined) replays.push(replay)
  }
  return replays
}

/** `undefined` for other routes, and where the recording lost the request or the answer. */
function replayOf({ file, n, provider, request, response }: Recording): Replay | undefined {
  const { pathname } = new URL(request.url, 'http://recorded')
  const suffix = PATHS.exec(pathname)?.[1]
  if (request.method !== 'POST' || suffix === undefined || response.body === '') return undefined
  if (typeof request.body !== 'object' || request.body === null) return undefined
  // They continue from a response that was made elsewhere, so no one here may have it (F-A4).
  if ('previous_response_id' in request.body || 'conversation' in request.body) return undefined
  const stream = /^(:|data:|event:)/.test(response.body)
  const name = `${file} #${n}`
  return {
    name,
    finished: !UNFINISHED.includes(name),
    path: pathname.endsWith('/v2/rerank') ? '/v2/rerank' : `/v1/${suffix}`,
    provider,
    // Some name their model in the path, or none at all: the gateway has to know one.
    request: { ...request.body, model: ('model' in request.body && request.body.model) || 'recorded' },
    status: response.status,
    type: response.headers['content-type'] ?? (stream ? 'text/event-stream' : 'application/json'),
    body: Buffer.from(response.body),
    stream,
  }
}
