import t from 'tap'
import { body, json, reset } from '../helpers/answers.js'
import { canary, proveNoLeak } from '../helpers/canaries.js'
import type { Answer } from '../helpers/raw-client.js'
import type { Script } from '../helpers/raw-upstream.js'
import { CLIENTS, EACH_CLIENT, PROTOCOLS, type Protocol, type TextClient } from '../helpers/text-clients.js'
import { answers, begins, EACH_UPSTREAM, ends, streams, TEXT, upstreamOf } from '../helpers/text-upstreams.js'
import { type Stage, startStage, translated } from '../helpers/translation-stage.js'

// Refusals of upstreams, and invalid answers: reported in the client's family, or another target answers.

t.setTimeout(300_000)

const SECRET = canary('upstream')
const ENV = { env: { UPSTREAM_KEY: SECRET } }

/** Both ways of asking, at once. */
async function both(
  stage: Stage,
  client: TextClient,
  protocol: Protocol,
  script: Script,
): Promise<readonly (readonly [Answer, boolean])[]> {
  const ask = async (stream: boolean) =>
    [await stage.ask(client, stage.play(protocol, script), stream), stream] as const
  return Promise.all([ask(false), ask(true)])
}

const ALL = CLIENTS.flatMap(client => PROTOCOLS.map(protocol => [client, protocol] as const))
const PAIRS = translated(CLIENTS)

t.test('refusals', async t => {
  const stage = await startStage(t, ENV)

  for (const status of [400, 404, 409, 413, 422]) {
    await t.test(`F-U12 ${status} comes through, in the family, with the upstream's words`, async t => {
      for (const [client, protocol] of PAIRS) {
        const refusal = json(upstreamOf(protocol).refusal('no chalk left'), { status })
        for (const [answer] of await both(stage, client, protocol, refusal)) {
          t.equal(client.error(t, answer, status).message, 'no chalk left', `${client.name} ← ${protocol}`)
          t.equal(answer.header('x-gateway-error'), 'upstream_rejected')
          t.match(await stage.line(answer), { status, attempts: [{ status }] })
          t.equal(stage.asked(String((await stage.line(answer)).model)).length, 1, 'no second try')
        }
      }
    })
  }

  for (const status of [401, 403, 407]) {
    await t.test(`F-U12 ${status} is the gateway's trouble: 502, and nothing of what the upstream said`, async t => {
      for (const [client, protocol] of ALL) {
        const refusal = json(upstreamOf(protocol).refusal(`Incorrect key ${SECRET}`), { status })
        for (const [answer] of await both(stage, client, protocol, refusal)) {
          t.notMatch(client.error(t, answer, 502).message, /Incorrect/)
          t.equal(answer.header('x-gateway-error'), 'upstream_auth')
          t.equal(answer.header('www-authenticate'), undefined)
        }
      }
    })
  }

  await t.test('F-U12 a native 400 about the key is the same', async t => {
    const details = [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'API_KEY_INVALID' }]
    const refusal = upstreamOf('generate').refusal('API key not valid. Please pass a valid API key.', { details })
    for (const client of CLIENTS) {
      for (const [answer] of await both(stage, client, 'generate', json(refusal, { status: 400 }))) {
        t.notMatch(client.error(t, answer, 502).message, /API key/, client.name)
        t.equal(answer.header('x-gateway-error'), 'upstream_auth')
      }
    }
  })

  for (const [name, headers, wait] of [
    ['seconds', { 'retry-after': '7' }, '7'],
    ['milliseconds', { 'retry-after-ms': '6500' }, '7'],
    ['a time long gone', { 'retry-after': 'Wed, 21 Oct 2015 07:28:00 GMT' }, '0'],
  ] as const) {
    await t.test(`F-U10 429 with retry-after in ${name} is 429 with retry-after`, async t => {
      for (const [client, protocol] of PAIRS) {
        const refusal = json(upstreamOf(protocol).refusal('slow down'), { status: 429, headers })
        for (const [answer] of await both(stage, client, protocol, refusal)) {
          t.equal(client.error(t, answer, 429).message, 'slow down')
          t.equal(answer.header('retry-after'), wait, `${client.name} ← ${protocol}`)
        }
      }
    })
  }

  await t.test('F-U10 a native retryDelay becomes retry-after', async t => {
    const details = [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '12.5s' }]
    const refusal = upstreamOf('generate').refusal('quota', { code: 429, status: 'RESOURCE_EXHAUSTED', details })
    for (const client of CLIENTS.filter(({ protocol }) => protocol !== 'generate')) {
      for (const [answer] of await both(stage, client, 'generate', json(refusal, { status: 429 }))) {
        client.error(t, answer, 429)
        t.equal(answer.header('retry-after'), '13')
      }
    }
  })

  for (const status of [500, 502, 503, 504, 529]) {
    await t.test(`F-U11 ${status} is a failure of the upstream, in the family`, async t => {
      for (const [client, protocol] of PAIRS) {
        const refusal = json(upstreamOf(protocol).refusal('on fire'), { status })
        for (const [answer] of await both(stage, client, protocol, refusal)) {
          t.ok(answer.status >= 500, `${answer.status}`)
          client.error(t, answer, answer.status)
          t.equal(answer.header('x-gateway-error'), 'upstream_failed')
        }
      }
    })
  }

  await t.test(
    'F-U12 refusals that are not JSON, or not of the protocol, are reported without their words',
    async t => {
      const odd = [
        '<html><body>nginx</body></html>',
        '',
        'null',
        '[]',
        '{"error":7}',
        '{"error":{"message":{}}}',
        '"x"',
      ]
      for (const [client, protocol] of PAIRS) {
        for (const text of [...odd, 'x'.repeat(200_000), `{"error":{"message":"${'y'.repeat(100_000)}"}}`]) {
          for (const [answer] of await both(stage, client, protocol, body(text, { status: 400 }))) {
            const { message } = client.error(t, answer, 400)
            t.ok(message.length > 0 && message.length < 5000, `${client.name} ← ${protocol}: ${text.slice(0, 30)}`)
            t.notMatch(message, /nginx|<html>/)
          }
        }
      }
    },
  )

  await t.test('F-D2 a secret of the gateway in the words of an upstream is not shown', async t => {
    for (const [client, protocol] of ALL) {
      const upstream = upstreamOf(protocol)
      const words = `Key ${SECRET} may not do this`
      for (const status of [400, 429, 500]) {
        for (const [answer] of await both(stage, client, protocol, json(upstream.refusal(words), { status })))
          t.notOk(answer.text.includes(SECRET), `${client.name} ← ${protocol}: ${status}`)
      }
      for (const before of [0, 2]) {
        const script = streams(upstream, [...upstream.pieces.slice(0, before), upstream.failure(words)])
        const answer = await stage.ask(client, stage.play(protocol, script), true)
        t.notOk(answer.text.includes(SECRET), `${client.name} ← ${protocol}: in a stream, after ${before}`)
        t.notOk(answer.head.raw.includes(SECRET))
      }
    }
  })
})

/** Whole bodies that are not answers. */
const NO_ANSWERS: readonly (readonly [string, string])[] = [
  ['HTML', '<!doctype html><html><body>It works!</body></html>'],
  ['nothing', ''],
  ['space', ' \n'],
  ['half an object', '{"id":"x","choices":['],
  ['null', 'null'],
  ['a number', '7'],
  ['a list', '[]'],
  ['a string', '"x"'],
  ['an empty object', '{}'],
  ['depth 100000', '{"a":'.repeat(100_000)],
]

t.test('F-U13 answers that are none', async t => {
  const stage = await startStage(t, ENV)
  for (const [name, text] of NO_ANSWERS) {
    await t.test(`F-U13 200 with ${name} is 502 in the family`, async t => {
      for (const [client, protocol] of PAIRS) {
        const headers = { 'content-type': name === 'HTML' ? 'text/html' : 'application/json' }
        for (const [answer] of await both(stage, client, protocol, body(text, { headers }))) {
          client.error(t, answer, 502)
          // A stream of documents that has none broke off before its first one.
          const codes = /^(bad_upstream_response|upstream_truncated)$/
          t.match(answer.header('x-gateway-error'), codes, `${client.name} ← ${protocol}`)
        }
      }
    })
  }

  await t.test('F-U13 a whole answer to those who asked for a stream becomes one', async t => {
    for (const [client, protocol] of PAIRS) {
      const answer = await stage.ask(client, stage.play(protocol, json(upstreamOf(protocol).answer)), true)
      t.match(client.ending(answer), { text: TEXT, good: 1, errors: [], trailing: false }, client.name)
    }
  })

  await t.test('F-U13 a stream to those who asked for a whole answer becomes one', async t => {
    for (const [client, protocol] of PAIRS) {
      const answer = await stage.ask(client, stage.play(protocol, streams(upstreamOf(protocol))), false)
      t.equal(answer.status, 200)
      t.equal(client.text(answer), TEXT, `${client.name} ← ${protocol}`)
    }
  })

  await t.test('F-U6 a whole answer that breaks off is never delivered as one', async t => {
    for (const [client, protocol] of PAIRS) {
      const upstream = upstreamOf(protocol)
      const cutShort: Script = async peer => {
        const text = JSON.stringify(upstream.answer)
        await peer.send(`HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n`)
        await peer.send(text.slice(0, -1))
        peer.reset()
      }
      for (const [answer] of await both(stage, client, protocol, cutShort)) client.error(t, answer, 502)
      const model = stage.play(protocol, streams(upstream, upstream.pieces.slice(0, 2), reset))
      client.error(t, await stage.ask(client, model, false), 502)
    }
  })
})

t.test('other targets', async t => {
  // The second target speaks the next protocol of the list.
  const order = EACH_UPSTREAM.map(({ protocol }) => protocol)
  const next = (protocol: Protocol): Protocol => order[(order.indexOf(protocol) + 1) % order.length] ?? 'chat'
  const models = order.map(one => `  "two-${one}-*": [{ upstream: ${one} }, { upstream: ${next(one)} }]\n`).join('')
  const more = 'retry: { attempts: 2, on: [connect, reset, first_byte, bad_response, 429, 500, 502, 503, 504, 529] }\n'
  const stage = await startStage(t, { ...ENV, models, more })

  /** The first request meets the fault, the second one the next upstream in good order. */
  const failing = (protocol: Protocol, fault: Script): Script => {
    let first = true
    return peer => {
      if (!first) return answers(upstreamOf(next(protocol)))(peer)
      first = false
      return fault(peer)
    }
  }

  const faults = (protocol: Protocol): readonly (readonly [string, Script])[] => {
    const upstream = upstreamOf(protocol)
    return [
      ['F-U4 a reset before the head', reset],
      ['F-U5 a reset behind the head', streams(upstream, [], reset)],
      ['F-U8 an end behind the head', streams(upstream, [], ends)],
      ['F-U10 429', json(upstream.refusal('slow down'), { status: 429 })],
      ['F-U11 503', json(upstream.refusal('on fire'), { status: 503 })],
      ['F-U13 HTML', body('<html>', { headers: { 'content-type': 'text/html' } })],
      ['F-U13 half a document', body('{"id":')],
      ['F-U14 an error as the first message', streams(upstream, [failureOf(protocol)])],
      ['F-U15 a first message that is none', streams(upstream, [upstream.piece('hello')])],
    ]
  }

  // A response that failed has begun; this is what replaces its first event.
  const responsesError = { type: 'error', sequence_number: 0, code: 'server_error', message: 'overloaded', param: null }
  function failureOf(protocol: Protocol): string {
    const upstream = upstreamOf(protocol)
    if (protocol !== 'responses') return upstream.failure('overloaded')
    return upstream.piece(JSON.stringify(responsesError), 'error')
  }

  for (const protocol of order) {
    for (const [name, fault] of faults(protocol)) {
      await t.test(`${name} of ${protocol}: the next target answers`, async t => {
        for (const client of EACH_CLIENT) {
          const ask = (stream: boolean): Promise<Answer> =>
            stage.ask(client, stage.play(`two-${protocol}`, failing(protocol, fault)), stream)
          const streamed = await ask(true)
          t.equal(streamed.status, 200, `${client.name}: ${streamed.text.slice(0, 200)}`)
          if (streamed.status === 200)
            t.match(client.ending(streamed), { text: TEXT, good: 1, errors: [], trailing: false })
          const whole = await ask(false)
          t.equal(whole.status, 200, whole.text)
          if (whole.status === 200) t.equal(client.text(whole), TEXT)
          t.equal((await stage.line(whole)).upstream, next(protocol))
        }
      })
    }

    await t.test(`F-U6 a stream of ${protocol} that has begun is never tried again`, async t => {
      const upstream = upstreamOf(protocol)
      for (const client of EACH_CLIENT.filter(one => one.protocol !== protocol)) {
        const script = failing(protocol, async peer => {
          await begins(upstream, upstream.pieces.slice(0, upstream.enough - 1))(peer)
          peer.reset()
        })
        const model = stage.play(`two-${protocol}`, script)
        t.match(client.ending(await stage.ask(client, model, true)), { good: 0, errors: [{}] })
        t.equal(stage.asked(model).length, 1)
      }
    })

    await t.test(`F-U12 a refusal by ${protocol} is not tried elsewhere`, async t => {
      for (const client of EACH_CLIENT) {
        const refusal = json(upstreamOf(protocol).refusal('bad words'), { status: 400 })
        const model = stage.play(`two-${protocol}`, failing(protocol, refusal))
        client.error(t, await stage.ask(client, model, false), 400)
        t.equal(stage.asked(model).length, 1)
      }
    })
  }
})

proveNoLeak(t)
