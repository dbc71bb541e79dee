import t from 'tap'
import { json } from '../../helpers/answers.js'
import { proveNoLeak } from '../../helpers/canaries.js'
import { EACH_CLIENT } from '../../helpers/text-clients.js'
import { isStream, streams, upstreamOf } from '../../helpers/text-upstreams.js'
import { startStage } from '../../helpers/translation-stage.js'

// Clients name tools as upstreams of chat and responses do not take them.

t.setTimeout(120_000)

const LONG = `mcp__a_server_of_tools__${'look_up_what_is_known_of_it_'.repeat(3)}`
const NAMES = ['files.read', 'files:read', LONG, 'plain'] as const
const TAKEN = /^[a-zA-Z0-9_-]{1,64}$/

type Members = Readonly<Record<string, unknown>>

/** A call of each of the tools that the upstream was given, in the form of chat. */
function callsOf(names: readonly string[]): Members[] {
  return names.map((name, index) => ({
    index,
    id: `call_${index}`,
    type: 'function',
    function: { name, arguments: '{}' },
  }))
}

/** Tools, and a history that called all of them. */
const NATIVE: Members = {
  contents: [
    { role: 'user', parts: [{ text: 'hello' }] },
    { role: 'model', parts: NAMES.map(name => ({ functionCall: { name, args: {} } })) },
    { role: 'user', parts: NAMES.map(name => ({ functionResponse: { name, response: { output: 'x' } } })) },
  ],
  tools: [{ functionDeclarations: NAMES.map(name => ({ name })) }],
  toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['files.read'] } },
}

t.test('names that the upstream rejects are replaced, and restored in the answer', async t => {
  const stage = await startStage(t)
  const client = EACH_CLIENT.find(({ protocol }) => protocol === 'generate')
  if (client === undefined) throw new Error('no client')
  let sent: readonly string[] = []
  const model = stage.play('chat', async peer => {
    const body = JSON.parse(peer.request.body.toString('utf8')) as {
      tools: { function: { name: string } }[]
      tool_choice: { function: { name: string } }
      messages: { tool_calls?: { function: { name: string } }[] }[]
    }
    sent = body.tools.map(tool => tool.function.name)
    t.same(
      body.messages[1]?.tool_calls?.map(call => call.function.name),
      sent,
      'in the history as well',
    )
    t.equal(body.tool_choice.function.name, sent[0])
    const calls = callsOf(sent)
    const up = upstreamOf('chat')
    if (!isStream(peer)) {
      const message = { role: 'assistant', content: null, tool_calls: calls }
      await json({ ...up.answer, choices: [{ index: 0, message, finish_reason: 'tool_calls' }] })(peer)
      return
    }
    const chunk = (delta: Members, finish_reason: string | null): string =>
      up.piece(
        JSON.stringify({ id: 'c', object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason }] }),
      )
    const pieces = [...calls.map(call => chunk({ tool_calls: [call] }, null)), chunk({}, 'tool_calls')]
    await streams(up, [...pieces, up.piece('[DONE]')])(peer)
  })
  for (const stream of [false, true]) {
    const answer = await stage.ask(client, model, stream, NATIVE)
    t.equal(answer.status, 200, answer.text)
    t.ok(
      sent.every(name => TAKEN.test(name)),
      sent.join(),
    )
    t.equal(new Set(sent).size, NAMES.length, 'each has its own')
    t.equal(sent.at(-1), 'plain', 'a name that is taken stays')
    const called = [...answer.text.matchAll(/"functionCall":\{"name":"([^"]*)"/g)].map(([, name]) => name)
    t.same(called, NAMES, stream ? 'streamed' : 'whole')
  }
})

t.test('the same name is the same in every turn', async t => {
  const stage = await startStage(t)
  const client = EACH_CLIENT.find(({ protocol }) => protocol === 'messages')
  if (client === undefined) throw new Error('no client')
  const model = stage.play('responses', json(upstreamOf('responses').answer))
  const ask = (more: Members) =>
    stage.ask(client, model, false, { tools: [{ name: LONG, input_schema: { type: 'object' } }], ...more })
  await ask({})
  const history = [
    { role: 'user', content: 'hello' },
    { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: LONG, input: {} }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'x' }] },
  ]
  await ask({ messages: history })
  const [first, second] = stage
    .asked(model)
    .map(one => one.json() as { tools: { name: string }[]; input: { name?: string }[] })
  t.match(first?.tools[0]?.name, TAKEN)
  t.equal(second?.tools[0]?.name, first?.tools[0]?.name)
  t.equal(second?.input[1]?.name, first?.tools[0]?.name)
})

t.test('a count is asked for by the same names', async t => {
  const speaks = 'responses: POST /v1/responses, responses.input_tokens: POST /v1/responses/input_tokens'
  const stage = await startStage(t, {
    upstreams: `  counting: { base: "ORIGIN", speaks: { ${speaks} } }\n`,
    models: '  "counting-*": counting\n',
  })
  const client = EACH_CLIENT.find(({ protocol }) => protocol === 'messages')
  if (client === undefined) throw new Error('no client')
  const model = stage.play('counting', json({ object: 'response.input_tokens', input_tokens: 7 }))
  const tools = [{ name: LONG, input_schema: { type: 'object' } }]
  const counter = { ...client, path: () => '/v1/messages/count_tokens' }
  const answer = await stage.ask(counter, model, false, { tools })
  t.same(answer.json(), { input_tokens: 7 }, answer.text)
  t.match(stage.asked(model)[0]?.json(), { tools: [{ name: TAKEN }] })
})

proveNoLeak(t)
