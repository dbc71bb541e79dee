import { createServer } from 'node:http'
import type { Test } from 'tap'
import { CHAT_ANSWER, json } from './answers.js'
import { CALLER, type GatewayOptions, startTestGateway, type TestGateway } from './gateway.js'
import { Journal } from './journal.js'
import { listening } from './listening.js'
import { type RawUpstream, startRawUpstream } from './raw-upstream.js'

export interface Asked {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: string
}

type Handler = (asked: Asked) => { readonly status?: number; readonly body: string }

/** A server of a cloud: its token service, or the metadata server of a machine. */
export async function startCloud(
  t: Test,
  handler: Handler,
): Promise<{ origin: string; host: string; asked: Journal<Asked> }> {
  const asked = new Journal<Asked>('requests to the cloud')
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (text: string) => {
      body += text
    })
    request.on('end', () => {
      const one = { method: request.method ?? '', path: request.url ?? '', headers: request.headers, body }
      asked.push(one)
      const answer = handler(one)
      response.writeHead(answer.status ?? 200, { 'content-type': 'application/json' }).end(answer.body)
    })
  })
  const host = `127.0.0.1:${await listening(t, server)}`
  return { origin: `http://${host}`, host, asked }
}

/** A gateway with one upstream that has this credential. */
export async function stage(
  t: Test,
  credential: string,
  options: GatewayOptions,
): Promise<{ gateway: TestGateway; upstream: RawUpstream }> {
  const upstream = await startRawUpstream(t)
  upstream.answer(json(CHAT_ANSWER))
  const yaml = `version: 1
${CALLER}
upstreams:
  up: { base: "${upstream.origin}/p%20q", speaks: { chat: "POST /model/{model}/chat?b=2&a=1" }, credential: ${credential} }
models: { m: { upstream: up, as: "maker.model-v1:0" } }
`
  return { upstream, gateway: await startTestGateway(t, yaml, options) }
}

export async function provesToken(
  t: Test,
  credential: string,
  options: GatewayOptions,
  token = ACCESS_TOKEN,
): Promise<void> {
  const { gateway, upstream } = await stage(t, credential, options)
  const answer = await gateway.chat()
  t.equal(answer.status, 200, answer.text)
  t.equal(upstream.requests.items[0]?.header('authorization'), `Bearer ${token}`)
}

const ACCESS_TOKEN = 'ya29.the-token'
export const TOKEN = JSON.stringify({ access_token: ACCESS_TOKEN, expires_in: 3600, token_type: 'Bearer' })
