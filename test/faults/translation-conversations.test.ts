import { once } from 'node:events'
import t from 'tap'
import { WebSocket } from 'ws'
import { proveNoLeak } from '../helpers/canaries.js'
import { eventsOf } from '../helpers/expect.js'
import { CALLER, startTestGateway } from '../helpers/gateway.js'
import type { Answer } from '../helpers/raw-client.js'
import { clientOf, EACH_CLIENT, PROTOCOLS, type Protocol } from '../helpers/text-clients.js'
import { answers, EACH_UPSTREAM, upstreamOf } from '../helpers/text-upstreams.js'
import { PATIENT, startStage, translated } from '../helpers/translation-stage.js'

// Conversations that cannot be, or that began elsewhere.

t.setTimeout(300_000)

type Members = Readonly<Record<string, unknown>>

const RESULT = 'the-result-of-a-tool'
const THOUGHT = 'a-thought-of-elsewhere'
const SEAL = 'c2VhbC1vZi1lbHNld2hlcmU='

/** A result of a call that never was. */
const ORPHANS: Readonly<Record<Protocol, Members>> = {
  chat: {
    messages: [
      { role: 'user', content: 'hello' },
      { role: 'tool', tool_call_id: 'call_none', content: RESULT },
    ],
  },
  responses: {
    input: [
      { role: 'user', content: 'hello' },
      { type: 'function_call_output', call_id: 'call_none', output: RESULT },
    ],
  },
  messages: {
    messages: [
      { role: 'user', content: 'hello' },
      { role: 'assistant', content: 'hm' },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_none', content: RESULT }] },
    ],
  },
  generate: {
    contents: [
      { role: 'user', parts: [{ text: 'hello' }] },
      { role: 'user', parts: [{ functionResponse: { name: 'f', response: { result: RESULT } } }] },
    ],
  },
  converse: {
    messages: [
      { role: 'user', content: [{ text: 'hello' }] },
      { role: 'assistant', content: [{ text: 'hm' }] },
      { role: 'user', content: [{ toolResult: { toolUseId: 'tooluse_none', content: [{ text: RESULT }] } }] },
    ],
  },
}

/** A thought with this seal, then a call and its result. */
const FOREIGN: Readonly<Record<Protocol, (seal: string) => Members>> = {
  chat: seal => ({
    messages: [
      { role: 'user', content: 'hello' },
      {
        role: 'assistant',
        content: null,
        reasoning_details: [{ type: 'reasoning.text', text: THOUGHT, signature: seal }],
        tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'f', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'call_1', content: RESULT },
    ],
    tools: [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }],
  }),
  responses: seal => ({
    input: [
      { role: 'user', content: 'hello' },
      { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: seal },
      { type: 'function_call', call_id: 'call_1', name: 'f', arguments: '{}' },
      { type: 'function_call_output', call_id: 'call_1', output: RESULT },
    ],
    tools: [{ type: 'function', name: 'f', parameters: { type: 'object' }, strict: false }],
  }),
  messages: signature => ({
    messages: [
      { role: 'user', content: 'hello' },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: THOUGHT, signature },
          { type: 'tool_use', id: 'toolu_1', name: 'f', input: {} },
        ],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: RESULT }] },
    ],
    tools: [{ name: 'f', input_schema: { type: 'object' } }],
  }),
  generate: thoughtSignature => ({
    contents: [
      { role: 'user', parts: [{ text: 'hello' }] },
      { role: 'model', parts: [{ functionCall: { name: 'f', args: {} }, thoughtSignature }] },
      { role: 'user', parts: [{ functionResponse: { name: 'f', response: { result: RESULT } } }] },
    ],
    tools: [{ functionDeclarations: [{ name: 'f', parameters: { type: 'OBJECT' } }] }],
  }),
  converse: signature => ({
    messages: [
      { role: 'user', content: [{ text: 'hello' }] },
      {
        role: 'assistant',
        content: [
          { reasoningContent: { reasoningText: { text: THOUGHT, signature } } },
          { toolUse: { toolUseId: 'tooluse_1', name: 'f', input: {} } },
        ],
      },
      { role: 'user', content: [{ toolResult: { toolUseId: 'tooluse_1', content: [{ text: RESULT }] } }] },
    ],
    toolConfig: { tools: [{ toolSpec: { name: 'f', inputSchema: { json: { type: 'object' } } } }] },
  }),
}

t.test('conversations that do not fit', async t => {
  const stage = await startStage(t)

  await t.test('F-C11 the result of a call that never was: refused with its place, or carried whole', async t => {
    for (const [client, protocol] of translated(EACH_CLIENT)) {
      const model = stage.play(protocol, answers(upstreamOf(protocol)))
      const answer = await stage.ask(client, model, false, ORPHANS[client.protocol])
      const [sent] = stage.asked(model)
      if (answer.status === 200) t.match(sent?.body.toString(), RESULT, `${client.name} → ${protocol}: carried`)
      else {
        const { message } = client.error(t, answer, 400)
        t.match(message, /messages|input|contents|call/, `${client.name} → ${protocol}: ${message}`)
        t.equal(sent, undefined)
      }
    }
  })

  await t.test('F-C11 a seal of another upstream is carried to no one: named, and nothing else is lost', async t => {
    for (const [client, protocol] of translated(EACH_CLIENT)) {
      const model = stage.play(protocol, answers(upstreamOf(protocol)))
      const answer = await stage.ask(client, model, false, FOREIGN[client.protocol](SEAL))
      t.equal(answer.status, 200, `${client.name} → ${protocol}: ${answer.text}`)
      const sent = stage.asked(model)[0]?.body.toString() ?? ''
      t.match(sent, RESULT)
      t.notMatch(sent, SEAL, 'the seal is not passed off as one of this upstream')
      t.notMatch(sent, /gw1[.-]/, 'nor does it travel to one that cannot read it')
      const dropped = answer.header('x-gateway-dropped') ?? ''
      // One protocol holds thoughts without a seal: then nothing of what was thought is lost.
      const isCarried = protocol === 'generate' && sent.includes(THOUGHT)
      t.ok(isCarried || /^(input|messages|contents)\[1\]/.test(dropped), `${client.name} → ${protocol}: ${dropped}`)
      t.same((await stage.line(answer)).dropped ?? [], dropped === '' ? [] : dropped.split(', '))
    }
  })

  await t.test('F-C11 a seal that the gateway wrapped for one upstream is not given to another', async t => {
    for (const [client, protocol] of translated(EACH_CLIENT)) {
      const owner = PROTOCOLS.find(one => one !== protocol && one !== client.protocol) ?? 'chat'
      const wrapped = wrap(client.protocol, owner)
      const model = stage.play(protocol, answers(upstreamOf(protocol)))
      const answer = await stage.ask(client, model, false, FOREIGN[client.protocol](wrapped))
      t.equal(answer.status, 200, `${client.name} → ${protocol}: ${answer.text}`)
      const sent = stage.asked(model)[0]?.body.toString() ?? ''
      t.match(sent, RESULT)
      t.notOk(sent.includes(SEAL) || sent.includes(wrapped), `${client.name} → ${protocol}`)
    }
  })

  await t.test('F-C11 a seal that the gateway wrapped comes back to the upstream that made it', async t => {
    for (const [client, protocol] of translated(EACH_CLIENT)) {
      if (protocol === 'chat') continue
      const model = stage.play(protocol, answers(upstreamOf(protocol)))
      const wrapped = wrap(client.protocol, protocol)
      const text = JSON.stringify(FOREIGN[client.protocol](wrapped))
        // Seals of calls ride on a thought of their own, and those of thoughts on one that is shown.
        .replace(protocol === 'generate' ? `"thinking":"${THOUGHT}"` : '""', '"thinking":""')
        .replace(protocol === 'generate' ? `"reasoningText":{"text":"${THOUGHT}"` : '""', '"reasoningText":{"text":""')
        .replace(
          `{"functionCall"`,
          `{"text":"${THOUGHT}","thought":true,"thoughtSignature":"${wrapped}"},{"functionCall"`,
        )
        .replace(`}},"thoughtSignature":"${wrapped}"`, '}}')
      const answer = await stage.ask(client, model, false, JSON.parse(text) as Members)
      t.equal(answer.status, 200, `${client.name} → ${protocol}: ${answer.text}`)
      const sent = stage.asked(model)[0]?.body.toString() ?? ''
      t.match(sent, `"${SEAL}"`, `${client.name} → ${protocol}: ${sent}`)
      t.equal(answer.header('x-gateway-dropped'), undefined)
    }
  })

  await t.test('F-C11 seals that are torn do no harm', async t => {
    const torn = [
      'gw1.',
      'gw1..',
      'gw1.messages',
      'gw1.messages.',
      'gw1.generate.%%%.next',
      'gw1.__proto__.eA.text',
      '',
    ]
    for (const [client, protocol] of translated(EACH_CLIENT)) {
      for (const seal of [...torn, ...torn.map(one => Buffer.from(one).toString('base64'))]) {
        const model = stage.play(protocol, answers(upstreamOf(protocol)))
        const answer = await stage.ask(client, model, false, FOREIGN[client.protocol](seal))
        if (answer.status === 200) t.match(stage.asked(model)[0]?.body.toString(), RESULT)
        else client.error(t, answer, 400)
      }
    }
  })
})

/** How a client of `protocol` was given {@link SEAL} by an upstream of `owner`. */
function wrap(protocol: Protocol, owner: Protocol): string {
  if (protocol === 'generate') return Buffer.from(`gw1.${owner}.${SEAL}`).toString('base64')
  const wrapped = `gw1.${owner}.${Buffer.from(SEAL).toString('base64url')}`
  return ['messages', 'converse'].includes(protocol) && owner === 'generate' ? `${wrapped}.next` : wrapped
}

const BOB = 'bob-secret-key-of-some-length'
const TWO = {
  keys: 'keys: { caller: { secret: { env: CALLER_KEY }, models: ["*"] }, bob: { secret: { env: BOB_KEY }, models: ["chat-*", "messages-*", "generate-*", "converse-*"] } }',
  env: { BOB_KEY: BOB },
}
const OTHERS = EACH_UPSTREAM.filter(({ protocol }) => protocol !== 'responses')

t.test(
  'F-A4 ids of another owner, where the gateway stores the conversation for an upstream that keeps none',
  async t => {
    const stage = await startStage(t, TWO)
    const client = clientOf('responses')
    for (const upstream of OTHERS) {
      for (const stream of [false, true]) {
        await t.test(`F-A4 ${upstream.name}${stream ? ', streamed' : ''}`, async t => {
          const model = stage.play(upstream.protocol, answers(upstream))
          const { id, output } = responseOf(await stage.ask(client, model, stream, { input: 'a secret' }))
          const item = String(output[0]?.id)
          const asBob = async (path: string, method: string, body?: Members): Promise<readonly [number, string]> => {
            const { status, text } = await stage.gateway.request(path, { key: BOB, method, ...(body && { body }) })
            return [status, text.replaceAll(id, 'ID').replaceAll(item, 'ID').replaceAll(UNKNOWN, 'ID')]
          }
          const asked = stage.asked(model).length
          const ways = (id: string, item: string): readonly (readonly [string, string, Members?])[] => [
            [`/v1/responses/${id}`, 'GET'],
            [`/v1/responses/${id}/input_items`, 'GET'],
            [`/v1/responses/${id}/cancel`, 'POST'],
            [`/v1/responses/${id}`, 'DELETE'],
            ['/v1/responses', 'POST', { model, stream, input: 'x', previous_response_id: id }],
            ['/v1/responses', 'POST', { model, stream, input: [{ type: 'item_reference', id: item }] }],
          ]
          const unknown = ways(UNKNOWN, UNKNOWN)
          for (const [index, [path, method, body]] of ways(id, item).entries()) {
            const told = await asBob(path, method, body)
            t.ok([400, 404].includes(told[0]), `${method} ${path}: ${told[0]}`)
            t.notMatch(told[1], /secret|one two/)
            t.same(told, await asBob(...unknown[index]!), 'as if it did not exist')
          }
          t.equal(stage.asked(model).length, asked, 'the upstream hears nothing of it')
          const more = { input: 'and', previous_response_id: id }
          t.match(
            responseOf(await stage.ask(client, model, stream, more)),
            { status: 'completed' },
            'its owner continues',
          )
          t.match(stage.asked(model).at(-1)?.body.toString(), /a secret.*one two three.*and/)
        })
      }
    }
  },
)

t.test('F-A6 what is named in a message of a socket is checked as in a request', async t => {
  const stage = await startStage(t, { ...TWO, models: '  "private-*": chat\n' })
  const model = stage.play('chat', answers(upstreamOf('chat')))
  const { id } = responseOf(await stage.ask(clientOf('responses'), model, false, { input: 'a secret' }))
  const asked = stage.upstream.requests.items.length
  const socket = new WebSocket(`${stage.gateway.origin.replace('http', 'ws')}/v1/responses`, {
    headers: { authorization: `Bearer ${BOB}` },
  })
  t.teardown(() => socket.terminate())
  await once(socket, 'open')
  const told = async (body: Members): Promise<string> => {
    const message = once(socket, 'message')
    socket.send(JSON.stringify({ type: 'response.create', input: 'x', ...body }))
    return String(((await message) as [Buffer])[0])
      .replaceAll(id, 'ID')
      .replaceAll(UNKNOWN, 'ID')
      .replaceAll('private-x', 'MODEL')
      .replaceAll('nobody-x', 'MODEL')
  }
  const foreign = await told({ model, previous_response_id: id })
  t.match(JSON.parse(foreign), { type: 'error', error: { code: 'previous_response_not_found' } })
  t.equal(foreign, await told({ model, previous_response_id: UNKNOWN }))
  const barred = await told({ model: 'private-x' })
  t.match(JSON.parse(barred), { type: 'error', error: { code: 'model_not_found' } })
  t.equal(barred, await told({ model: 'nobody-x' }))
  t.equal(stage.upstream.requests.items.length, asked)
})

t.test('F-C10 a conversation that outgrows its bound is refused by name, and what there was continues', async t => {
  const stage = await startStage(t, { more: PATIENT })
  const client = clientOf('responses')
  const large = 'x'.repeat(6 * 1024 * 1024)
  for (const upstream of OTHERS) {
    const model = stage.play(upstream.protocol, answers(upstream))
    const ask = (input: string, previous?: string, stream = false) =>
      stage.ask(client, model, stream, { input, ...(previous !== undefined && { previous_response_id: previous }) })
    const first = responseOf(await ask(large))
    const second = responseOf(await ask(large, first.id))
    const asked = stage.asked(model).length
    for (const stream of [false, true]) {
      const { message, param } = client.error(t, await ask(large, second.id, stream), 400)
      t.equal(param, 'previous_response_id')
      t.match(message, /conversation/i, message)
    }
    t.equal(stage.asked(model).length, asked, 'the upstream hears nothing of it')
    t.match(responseOf(await ask('small', second.id)), { status: 'completed' })
    t.ok((stage.asked(model).at(-1)?.body.length ?? 0) > 12 * 1024 * 1024, 'with all that came before')
  }
})

t.test('the result of a call that never was, before servers that look', async t => {
  const gateway = await startTestGateway(
    t,
    `version: 1\n${CALLER}\nupstreams:\n  chat: { kind: simulator-chat }\n  responses: { kind: simulator-responses }\n  messages: { kind: simulator-messages, traits: { max_output: 1000 } }\n  generate: { kind: simulator-generate }\n  converse: { kind: simulator-converse }\nmodels: { sim-chat: chat, sim-responses: responses, sim-messages: messages, sim-generate: generate, sim-converse: converse }\n`,
  )
  for (const client of EACH_CLIENT) {
    for (const protocol of PROTOCOLS) {
      for (const stream of [false, true]) {
        const options = {
          headers: client.headers(gateway.key),
          body: client.body(`sim-${protocol}`, stream, ORPHANS[client.protocol]),
        }
        const answer = await gateway.request(client.path(`sim-${protocol}`, stream), options)
        const { message } = client.error(t, answer, 400)
        t.match(message, /call|tool|function|turn/i, `${client.name} → ${protocol}: ${message}`)
      }
    }
  }
})

const UNKNOWN = `resp_${'0'.repeat(32)}`

interface Kept {
  readonly id: string
  readonly status: string
  readonly output: readonly { readonly id?: string }[]
}

/** The response of an answer, streamed or not. */
function responseOf(answer: Answer): Kept {
  if (answer.status !== 200) throw new Error(answer.text.slice(0, 300))
  if (answer.text.startsWith('{')) return answer.json() as Kept
  const last = eventsOf(answer.text).at(-1)
  return (JSON.parse(last?.data ?? '') as { readonly response: Kept }).response
}

proveNoLeak(t)
