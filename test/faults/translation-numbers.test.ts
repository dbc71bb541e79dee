import t from 'tap'
import { body, chunk, LAST_CHUNK, startStream } from '../helpers/answers.js'
import { relaysAnything } from '../helpers/emitted.js'
import { messagesOf } from '../helpers/eventstream.js'
import { eventsOf } from '../helpers/expect.js'
import { type Answer, request } from '../helpers/raw-client.js'
import type { Script } from '../helpers/raw-upstream.js'
import { EACH_CLIENT, type Protocol } from '../helpers/text-clients.js'
import { isStream, upstreamOf } from '../helpers/text-upstreams.js'
import { startStage, translated } from '../helpers/translation-stage.js'

// Schemas here hold more than the services would take.
relaysAnything()

/** Numbers of arguments, results and schemas cross with their digits, in all pairs. */

const NUMBERS = ['1234567890123456789', '-9007199254740993', '1.10', '-0', '1e400', '1.0', '0.1000000000000000055']
const ARGS = `{"id":${NUMBERS[0]},"more":[${NUMBERS.join(',')},{"x":${NUMBERS[1]}}],"text":"1.10, \\"id\\":-0"}`
const RESULT = `{"rows":[{"id":${NUMBERS[0]},"price":1.10}],"zero":-0}`
const SCHEMA =
  '{"type":"object","properties":{"id":{"type":"integer","maximum":9223372036854775807,"minimum":-9223372036854775808,' +
  '"default":1234567890123456789},"kind":{"enum":[1234567890123456789,1.10]},"one":{"const":1234567890123456787}},"required":["id"]}'
const SCHEMA_NUMBERS = [
  '9223372036854775807',
  '-9223372036854775808',
  '1234567890123456789',
  '1.10',
  '1234567890123456787',
]
const quoted = (text: string): string => JSON.stringify(text)

/** A request with a call and its result in the conversation, a tool, and a form of the answer. */
const ASK: Readonly<Record<Protocol, (model: string, stream: boolean) => string>> = {
  chat: (model, stream) =>
    `{"model":"${model}","stream":${stream},"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"f","arguments":${quoted(ARGS)}}}]},{"role":"tool","tool_call_id":"call_1","content":${quoted(RESULT)}}],` +
    `"tools":[{"type":"function","function":{"name":"f","parameters":${SCHEMA}}}],"response_format":{"type":"json_schema","json_schema":{"name":"out","schema":${SCHEMA}}}}`,
  responses: (model, stream) =>
    `{"model":"${model}","stream":${stream},"store":false,"input":[{"role":"user","content":"hi"},{"type":"function_call","call_id":"call_1","name":"f","arguments":${quoted(ARGS)}},{"type":"function_call_output","call_id":"call_1","output":${quoted(RESULT)}}],` +
    `"tools":[{"type":"function","name":"f","strict":false,"parameters":${SCHEMA}}],"text":{"format":{"type":"json_schema","name":"out","schema":${SCHEMA}}}}`,
  messages: (model, stream) =>
    `{"model":"${model}","stream":${stream},"max_tokens":99,"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"f","input":${ARGS}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":${quoted(RESULT)}}]}],` +
    `"tools":[{"name":"f","input_schema":${SCHEMA}}],"output_config":{"format":{"type":"json_schema","schema":${SCHEMA}}}}`,
  generate: () =>
    `{"contents":[{"role":"user","parts":[{"text":"hi"}]},{"role":"model","parts":[{"functionCall":{"name":"f","args":${ARGS}}}]},{"role":"user","parts":[{"functionResponse":{"name":"f","response":${RESULT}}}]}],` +
    `"tools":[{"functionDeclarations":[{"name":"f","parametersJsonSchema":${SCHEMA}}]}],"generationConfig":{"temperature":1.0,"maxOutputTokens":1e2,"responseMimeType":"application/json","responseJsonSchema":${SCHEMA}}}`,
  converse: () =>
    `{"messages":[{"role":"user","content":[{"text":"hi"}]},{"role":"assistant","content":[{"toolUse":{"toolUseId":"call_1","name":"f","input":${ARGS}}}]},{"role":"user","content":[{"toolResult":{"toolUseId":"call_1","content":[{"json":${RESULT}}]}}]}],` +
    `"toolConfig":{"tools":[{"toolSpec":{"name":"f","inputSchema":{"json":${SCHEMA}}}}]},"outputConfig":{"textFormat":{"type":"json_schema","structure":{"jsonSchema":{"name":"out","schema":${quoted(SCHEMA)}}}}}}`,
}

/** A whole answer that calls the tool, and the pieces of a stream that does. */
const SAY: Readonly<Record<Protocol, { readonly whole: string; readonly pieces: readonly string[] }>> = {
  chat: {
    whole: `{"id":"c1","object":"chat.completion","created":1,"model":"up","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"f","arguments":${quoted(ARGS)}}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":3,"completion_tokens":5.0,"total_tokens":8}}`,
    pieces: [
      `{"id":"c1","object":"chat.completion.chunk","created":1,"model":"up","choices":[{"index":0,"delta":{"role":"assistant","tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"f","arguments":${quoted(ARGS.slice(0, 20))}}}]},"finish_reason":null}]}`,
      `{"id":"c1","object":"chat.completion.chunk","created":1,"model":"up","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":${quoted(ARGS.slice(20))}}}]},"finish_reason":null}]}`,
      '{"id":"c1","object":"chat.completion.chunk","created":1,"model":"up","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":3,"completion_tokens":5,"total_tokens":8}}',
      '[DONE]',
    ],
  },
  responses: {
    whole: `{"id":"r1","object":"response","created_at":1,"model":"up","status":"completed","tools":[],"output":[${item(ARGS)}],"usage":{"input_tokens":3,"output_tokens":5,"total_tokens":8}}`,
    pieces: [
      '{"type":"response.created","sequence_number":0,"response":{"id":"r1","object":"response","created_at":1,"model":"up","status":"in_progress","output":[],"tools":[]}}',
      `{"type":"response.output_item.added","sequence_number":1,"output_index":0,"item":${item('')}}`,
      `{"type":"response.function_call_arguments.delta","sequence_number":2,"output_index":0,"item_id":"fc_1","delta":${quoted(ARGS)}}`,
      `{"type":"response.function_call_arguments.done","sequence_number":3,"output_index":0,"item_id":"fc_1","arguments":${quoted(ARGS)}}`,
      `{"type":"response.output_item.done","sequence_number":4,"output_index":0,"item":${item(ARGS)}}`,
      `{"type":"response.completed","sequence_number":5,"response":{"id":"r1","object":"response","created_at":1,"model":"up","status":"completed","tools":[],"output":[${item(ARGS)}],"usage":{"input_tokens":3,"output_tokens":5,"total_tokens":8}}}`,
    ],
  },
  messages: {
    whole: `{"id":"m1","type":"message","role":"assistant","model":"up","content":[{"type":"tool_use","id":"toolu_1","name":"f","input":${ARGS}}],"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":3,"output_tokens":5}}`,
    pieces: [
      '{"type":"message_start","message":{"id":"m1","type":"message","role":"assistant","model":"up","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":3,"output_tokens":1}}}',
      `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"toolu_1","name":"f","input":${ARGS}}}`,
      '{"type":"content_block_stop","index":0}',
      '{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_2","name":"f","input":{}}}',
      `{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":${quoted(ARGS)}}}`,
      '{"type":"content_block_stop","index":1}',
      '{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":5}}',
      '{"type":"message_stop"}',
    ],
  },
  generate: {
    whole: native(`{"functionCall":{"name":"f","args":${ARGS}}}`),
    pieces: [native(`{"functionCall":{"name":"f","args":${ARGS}}}`)],
  },
  converse: {
    whole: `{"output":{"message":{"role":"assistant","content":[{"toolUse":{"toolUseId":"call_1","name":"f","input":${ARGS}}}]}},"stopReason":"tool_use","usage":{"inputTokens":3,"outputTokens":5.0,"totalTokens":8},"metrics":{"latencyMs":1}}`,
    pieces: [
      'messageStart {"role":"assistant"}',
      'contentBlockStart {"contentBlockIndex":0,"start":{"toolUse":{"toolUseId":"call_1","name":"f"}}}',
      `contentBlockDelta {"contentBlockIndex":0,"delta":{"toolUse":{"input":${quoted(ARGS.slice(0, 20))}}}}`,
      `contentBlockDelta {"contentBlockIndex":0,"delta":{"toolUse":{"input":${quoted(ARGS.slice(20))}}}}`,
      'contentBlockStop {"contentBlockIndex":0}',
      'messageStop {"stopReason":"tool_use"}',
      'metadata {"usage":{"inputTokens":3,"outputTokens":5,"totalTokens":8},"metrics":{"latencyMs":1}}',
    ],
  },
}

function item(args: string): string {
  return `{"type":"function_call","id":"fc_1","call_id":"call_1","name":"f","arguments":${quoted(args)},"status":"completed"}`
}

function native(part: string): string {
  return `{"candidates":[{"content":{"role":"model","parts":[${part}]},"index":0.0,"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":5,"totalTokenCount":8},"modelVersion":"up","responseId":"g1"}`
}

function says(protocol: Protocol): Script {
  const { whole, pieces } = SAY[protocol]
  return async peer => {
    if (!isStream(peer)) return body(whole)(peer)
    const { contentType, bytes } = upstreamOf(protocol)
    await startStream(peer, { headers: { 'content-type': contentType } })
    for (const data of pieces) {
      const typed = /^\{"type":"([^"]+)"/.exec(data)?.[1]
      const [, type = typed, rest = data] = /^([a-zA-Z]+) (.*)$/.exec(data) ?? []
      await peer.send(chunk(bytes(`${type === undefined ? '' : `event: ${type}\n`}data: ${rest}\n\n`)))
    }
    await peer.send(LAST_CHUNK)
  }
}

/** Whether a text has the JSON in it, as it is or as the content of a string. */
function holds(text: string, part: string): boolean {
  return text.includes(part) || text.includes(quoted(part).slice(1, -1))
}

/** All that a streamed answer says of arguments, in one text. */
function streamedArguments(protocol: Protocol, { text, body: bytes }: Pick<Answer, 'text' | 'body'>): string {
  if (protocol === 'converse') {
    const payloads = messagesOf(bytes).map(({ payload }) => payload as { delta?: { toolUse?: { input?: string } } })
    return payloads.map(({ delta }) => delta?.toolUse?.input ?? '').join('')
  }
  const events = eventsOf(text).map(({ data }) => data)
  if (protocol === 'generate') return events.join('')
  return events
    .filter(data => data !== '[DONE]')
    .map(data => JSON.parse(data))
    .map(event => {
      if (protocol === 'chat') return event.choices?.[0]?.delta?.tool_calls?.[0]?.function?.arguments ?? ''
      if (protocol === 'responses') return event.type.endsWith('arguments.delta') ? event.delta : ''
      return event.delta?.partial_json ?? ''
    })
    .join('')
}

t.test('numbers keep their digits on the way to the upstream and back', async t => {
  const stage = await startStage(t)
  for (const [client, protocol] of translated(EACH_CLIENT))
    for (const stream of [false, true]) {
      const what = `${client.name} to ${protocol}${stream ? ', streamed' : ''}`
      const model = stage.play(protocol, says(protocol))
      const { gateway } = stage
      const query = client.protocol === 'generate' && stream ? '?alt=sse' : ''
      const path = client.path(model, stream).split('?')[0] + query
      const answer = await request(t, gateway.origin, path, {
        headers: client.headers(gateway.key),
        body: ASK[client.protocol](model, stream),
      })
      t.equal(answer.status, 200, `${what}: ${answer.status} ${answer.status === 200 ? '' : answer.text}`)
      const [asked] = stage.asked(model)
      const sent = asked?.body.toString('utf8') ?? ''
      t.ok(holds(sent, ARGS), `${what}: arguments of the conversation ${holds(sent, ARGS) ? '' : sent}`)
      t.ok(holds(sent, RESULT), `${what}: the result of the conversation`)
      for (const number of SCHEMA_NUMBERS) t.ok(sent.split(number).length > 2, `${what}: ${number} in both schemas`)
      const told = stream ? streamedArguments(client.protocol, answer) : answer.text
      t.ok(holds(told, ARGS), `${what}: arguments of the answer ${holds(told, ARGS) ? '' : answer.text}`)
    }
})

t.test('numbers keep their digits in the conversations that the gateway keeps', async t => {
  const stage = await startStage(t, { models: '', more: '' })
  const { gateway } = stage
  for (const protocol of ['chat', 'messages', 'generate', 'converse'] as const)
    for (const stream of [false, true]) {
      const what = `${protocol}${stream ? ', streamed' : ''}`
      const model = stage.play(protocol, says(protocol))
      const headers = { authorization: `Bearer ${gateway.key}` }
      const body = ASK.responses(model, stream).replace('"store":false', '"store":true')
      const first = await request(t, gateway.origin, '/v1/responses', { headers, body })
      t.equal(first.status, 200, what)
      for (const number of SCHEMA_NUMBERS)
        t.ok(first.text.split(number).length > 2, `${what}: ${number} in what is repeated`)
      const id = /"id":"(resp_[^"]+)"/.exec(first.text)?.[1] ?? ''
      const kept = await request(t, gateway.origin, `/v1/responses/${id}`, { headers })
      t.equal(kept.status, 200, what)
      t.ok(holds(kept.text, ARGS), `${what}: arguments as they were kept`)
      for (const number of SCHEMA_NUMBERS) t.ok(kept.text.split(number).length > 2, `${what}: ${number} as it was kept`)
      const call = /"call_id":"((?!call_1")[^"]+)"|"call_id":"(call_1)"/.exec(kept.text)
      const result = { type: 'function_call_output', call_id: call?.[1] ?? call?.[2], output: 'x' }
      const next = { model, previous_response_id: id, input: [result] }
      const second = await request(t, gateway.origin, '/v1/responses', { headers, body: next })
      t.equal(second.status, 200, `${what}: ${second.status === 200 ? '' : second.text}`)
      const sent = stage.asked(model).at(-1)?.body.toString('utf8') ?? ''
      t.ok(holds(sent, RESULT) && holds(sent, ARGS), `${what}: the history that goes upstream`)
    }
})
