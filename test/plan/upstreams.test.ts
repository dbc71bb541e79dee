import t from 'tap'
import type { UpstreamConfig } from '../../src/core/config.js'
import { Secret } from '../../src/core/secret.js'
import { atOnce } from '../../src/core/steps.js'
import { type CompiledUpstream, compileUpstreams } from '../../src/plan/upstreams.js'
import { callOf, configOf, upstreamOf } from '../helpers/config-builder.js'

const BEARER = { place: { in: 'header', name: 'authorization', scheme: 'Bearer' }, secret: new Secret('s') } as const

function speakerOf(
  base: string,
  parts: Partial<UpstreamConfig> = {},
  callerHeaders: readonly string[] = [],
): CompiledUpstream {
  const config = configOf({ upstreams: { up: upstreamOf(base, parts) } })
  const speaker = atOnce(compileUpstreams(config, new Set(callerHeaders))).get('up')
  if (speaker === undefined) throw new Error('no upstream')
  return speaker
}

t.test('the base is split into origin and prefix', async t => {
  const { upstream, endpoints } = speakerOf('https://up.example:8443/proxy/v2')
  t.equal(upstream.origin, 'https://up.example:8443')
  t.equal(endpoints.get('chat')?.call.target({}), '/proxy/v2/v1/chat/completions')
})

t.test('a base without a prefix adds none', async t => {
  t.equal(speakerOf('https://up.example').endpoints.get('chat')?.call.target({}), '/v1/chat/completions')
})

t.test('the embedded simulator has no address of its own', async t => {
  const { upstream, endpoints } = speakerOf('embedded:simulator')
  t.equal(upstream.origin, 'embedded:simulator')
  t.equal(endpoints.get('chat')?.call.target({}), '/v1/chat/completions')
})

t.test('the credential is before declared headers, whose names are lower case', async t => {
  const { upstream } = speakerOf('https://up.example', { credential: BEARER, headers: { 'X-Version': '1' } })
  t.same(upstream.headers, ['authorization', 'Bearer s', 'x-version', '1'])
  t.same(upstream.shownHeaders, ['authorization', 'Bearer [secret]', 'x-version', '1'])
})

t.test('the credential wins over a declared header of its name', async t => {
  const { upstream } = speakerOf('https://up.example', { credential: BEARER, headers: { Authorization: 'x' } })
  t.same(upstream.headers, ['authorization', 'Bearer s'])
})

t.test('a credential in the query is part of every call', async t => {
  const credential = { place: { in: 'query', name: 'key' }, secret: new Secret('s') } as const
  const chat = callOf('POST /chat', { stream: { method: 'POST', target: '/chat?alt=sse' } })
  const { upstream, endpoints } = speakerOf('https://up.example', { credential, speaks: { chat } })
  t.same(upstream.headers, [])
  t.equal(endpoints.get('chat')?.call.target({}), '/chat?key=s')
  t.equal(endpoints.get('chat')?.stream.target({}), '/chat?alt=sse&key=s')
})

t.test('a declared header is sent in any case, unless forward names it: then the client may send its own', async t => {
  const headers = { 'X-Version': '1', 'x-team': 't' }
  const forwarding = (...request: string[]): CompiledUpstream =>
    speakerOf('https://up.example', { credential: BEARER, headers, forward: { request, response: [], trace: true } }, [
      'x-key',
    ])
  const { forward } = forwarding('x-version', 'x-trace', 'authorization', 'x-key').upstream
  t.ok(forward.request('x-version'))
  t.ok(forward.request('x-trace'))
  for (const name of ['x-team', 'authorization', 'x-key']) t.notOk(forward.request(name), name)
  t.notOk(forwarding('x-*').upstream.forward.request('x-version'), 'a glob does not name it')
})

t.test('an upstream that is off keeps its reason and sends no credential', async t => {
  const { upstream } = speakerOf('https://up.example', { credential: { place: BEARER.place }, off: 'KEY is not set' })
  t.match(upstream, { off: 'KEY is not set', headers: [], shownHeaders: [] })
})

t.test('streams use the same call where none of their own is declared', async t => {
  const chat = speakerOf('https://up.example').endpoints.get('chat')
  t.equal(chat?.stream, chat?.call)
})

t.test("F-U20 callers' key headers, declared headers and the credential's never pass from a client", async t => {
  const credential = { place: { in: 'header', name: 'X-Up-Key' } } as const
  const forward = { request: ['x-*'], response: [], trace: true }
  const { upstream } = speakerOf('https://up.example', { credential, forward, headers: { 'X-Set': '1' } }, [
    'x-api-key',
  ])
  const pass = upstream.forward.request
  t.same(['x-api-key', 'x-up-key', 'x-set', 'x-other'].map(pass), [false, false, false, true])
})

t.test("its connect time-out is its own, else everybody's", async t => {
  t.equal(speakerOf('https://up.example').upstream.connect, 3000)
  t.equal(speakerOf('https://up.example', { timeouts: { connect: 5 } }).upstream.connect, 5)
})

t.test('a definition tells another address, credential, way or call apart, and nothing else', async t => {
  const base = 'https://up.example'
  const definition = (parts: Partial<UpstreamConfig> = {}, at = base): string =>
    speakerOf(at, { credential: BEARER, ...parts }).upstream.definition
  const one = definition()
  t.match(one, /^[0-9a-f]{12}$/)
  t.equal(definition(), one)
  t.equal(definition({ region: 'eu', retry: { attempts: 5 }, health: { failures: 9 } }), one)
  const others = [
    definition({}, `${base}/v2`),
    definition({ credential: { ...BEARER, secret: new Secret('another') } }),
    definition({ otherSecrets: [new Secret('a second one')] }),
    definition({ headers: { 'x-team': 't' } }),
    definition({ timeouts: { connect: 1 } }),
    definition({ speaks: { chat: callOf('POST /chat') } }),
  ]
  t.equal(new Set([one, ...others]).size, others.length + 1)
  const { upstream } = speakerOf(base, { credential: BEARER, otherSecrets: [new Secret('a second one')] })
  t.same(
    upstream.others.map(({ definition: its }) => its),
    [upstream.definition],
    'its secrets share what is learned',
  )
})
