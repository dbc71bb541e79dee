import type t from 'tap'
import { CALLER, type GatewayOptions, type LogLine, startTestGateway, type TestGateway } from './gateway.js'
import { type Answer, connectRaw, type RawClient, request, requestBytes } from './raw-client.js'
import { type RawUpstream, type RecordedRequest, type Script, startRawUpstream } from './raw-upstream.js'
import { asking, type Protocol, type TextClient } from './text-clients.js'
import { EACH_UPSTREAM } from './text-upstreams.js'

type Test = Pick<typeof t, 'teardown'>
type Members = Readonly<Record<string, unknown>>

/** For bodies of megabytes: client, upstream and all checks share the event loop with the gateway, which takes its time. */
export const PATIENT = 'timeouts: { connect: 60s }\n'

export interface StageOptions extends GatewayOptions {
  /** Replaces {@link CALLER}. */
  readonly keys?: string
  /** More top-level members of the configuration. */
  readonly more?: string
  /** More models, an indented line each. */
  readonly models?: string
  /** More upstreams, an indented line each; `ORIGIN` stands for the address of the upstream. */
  readonly upstreams?: string
}

/** A gateway before one upstream that speaks all text protocols, each by an entry of its own. */
export interface Stage {
  readonly gateway: TestGateway
  readonly upstream: RawUpstream
  /** Sets what the upstream does with a request for a new model of this protocol; answers the model's name. */
  play(protocol: string, script: Script): string
  /** A whole exchange with the caller's key. */
  ask(client: TextClient, model: string, stream: boolean, more?: Members): Promise<Answer>
  /** Sends the request and hands over the connection. */
  open(client: TextClient, model: string, stream: boolean, more?: Members): Promise<RawClient>
  /** Requests that the upstream got for this model. */
  asked(model: string): readonly RecordedRequest[]
  /** The log line of an answer. */
  line(answer: Answer): Promise<LogLine>
}

/** Each request finds its script by its model, so that exchanges can run at the same time. */
export async function startStage(test: Test, options: StageOptions = {}): Promise<Stage> {
  const upstream = await startRawUpstream(test)
  const scripts = new Map<string, Script>()
  upstream.answer(peer => {
    const script = scripts.get(modelOf(peer.request))
    if (script === undefined) throw new Error(`no script for ${peer.request.target}`)
    return script(peer)
  })
  const gateway = await startTestGateway(test, yaml(upstream.origin, options), options)
  const { origin, key } = gateway
  return {
    gateway,
    upstream,
    play: (protocol, script) => {
      const model = `${protocol}-${scripts.size}`
      scripts.set(model, script)
      return model
    },
    ask: (client, model, stream, more) => request(test, origin, ...asking(client, key, model, stream, more)),
    open: async (client, model, stream, more) => {
      const raw = await connectRaw(test, origin)
      await raw.send(requestBytes(origin, ...asking(client, key, model, stream, more)))
      return raw
    },
    asked: model => upstream.requests.items.filter(one => modelOf(one) === model),
    line: answer => gateway.log.find(({ msg, id }) => msg === 'request' && id === answer.header('x-request-id')),
  }
}

function yaml(origin: string, { keys = CALLER, more = '', models = '', upstreams = '' }: StageOptions): string {
  const entries = EACH_UPSTREAM.map(({ protocol, yaml }) => `  ${protocol}: { base: "${origin}", ${yaml} }\n`)
  const names = EACH_UPSTREAM.map(({ protocol }) => `  "${protocol}-*": ${protocol}\n`)
  return `version: 1\n${keys}\nupstreams:\n${entries.join('')}${upstreams.replaceAll('ORIGIN', origin)}models:\n${models}${names.join('')}${more}`
}

/** The model that a request to the upstream names, in its path or in its body. */
export function modelOf({ target, body }: RecordedRequest): string {
  const inPath = /^\/(?:v1beta\/models|model)\/([^:/]+)[:/]/.exec(target)?.[1]
  if (inPath !== undefined) return decodeURIComponent(inPath)
  return String((JSON.parse(body.toString('utf8')) as { model: unknown }).model)
}

/** Pairs of a client and a protocol of an upstream that need a translation. */
export function translated(clients: readonly TextClient[]): readonly (readonly [TextClient, Protocol])[] {
  return clients.flatMap(client =>
    EACH_UPSTREAM.filter(({ protocol }) => protocol !== client.protocol).map(
      ({ protocol }) => [client, protocol] as const,
    ),
  )
}
