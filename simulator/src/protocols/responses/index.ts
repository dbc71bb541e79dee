import { compatible } from '../../families/compatible.js'
import { Fields } from '../../families/fields.js'
import { modelOf } from '../../families/options.js'
import { endpoint, eventStream, json, type Protocol } from '../../protocol.js'
import { seal } from '../../seals.js'
import { stampedId } from '../../seed.js'
import { promptTokens, spoiled } from '../../text/usage.js'
import { readInput } from './input.js'
import { readResponses } from './request.js'
import { respond } from './response.js'
import { cancelResponse, deleteResponse, inputItems, readHistory, retrieveResponse } from './stored.js'
import { ResponseStream } from './stream.js'

/** `POST /v1/responses/compact`: the user's messages stay, and one sealed item stands for all the rest. */
const compact = endpoint(compatible, 'POST /v1/responses/compact', { body: 'json' }, call => {
  const { seed, memory, faults } = call
  const body = new Fields(call.body)
  modelOf(body)
  const history = readHistory(body, call)
  const { turns, items } = readInput(body, history, memory, seed)
  const all = [...history.items, ...items]
  const sealed = seal('responses.compaction', JSON.stringify(all))
  const summary = { type: 'compaction', id: stampedId('cmp_', seed.fork('item')), encrypted_content: sealed }
  const input = promptTokens({ turns, tools: [] }).input
  return json({
    id: stampedId('resp_', seed.fork('id')),
    object: 'response.compaction',
    created_at: seed.created(),
    output: [...all.filter(({ role }) => role === 'user'), summary],
    usage: spoiled(
      {
        input_tokens: input,
        input_tokens_details: { cached_tokens: 0 },
        output_tokens: SUMMARY_TOKENS,
        output_tokens_details: { reasoning_tokens: 0 },
        total_tokens: input + SUMMARY_TOKENS,
      },
      faults,
    ),
  })
})

/** `POST /v1/responses`, whole or as a stream of typed events. */
const responses = endpoint(
  compatible,
  'POST /v1/responses',
  { body: 'json', models: ['sim-text', 'sim-responses'] },
  call => {
    const request = readResponses(call)
    const response = respond(request, call)
    if (!request.stream) return json(response.object('ended'))
    const stream = new ResponseStream(response)
    return eventStream(stream.events(), error => stream.failure(error, call.requestId))
  },
)

const inputTokens = endpoint(compatible, 'POST /v1/responses/input_tokens', { body: 'json' }, call => {
  const { input } = promptTokens(readResponses(call).text)
  return json({ object: 'response.input_tokens', input_tokens: input })
})

/** More specific paths come first. */
export const RESPONSES: readonly Protocol[] = [
  responses,
  inputTokens,
  compact,
  inputItems,
  cancelResponse,
  retrieveResponse,
  deleteResponse,
]

/** As if a short summary had been written. */
const SUMMARY_TOKENS = 16
