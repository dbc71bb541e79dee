import { compatible } from '../../families/compatible.js'
import { Fields } from '../../families/fields.js'
import { spoiled } from '../../faults/usage.js'
import { json, type Protocol } from '../../protocol.js'
import { seal } from '../../seals.js'
import { stampedId } from '../../seed.js'
import { promptTokens } from '../../text/usage.js'
import { modelOf } from '../model.js'
import { readHistory } from './history.js'
import { readInput } from './input.js'

/** As if a short summary had been written. */
const SUMMARY_TOKENS = 16

/** `POST /v1/responses/compact`: the user's messages stay, and one sealed item stands for all the rest. */
export const compact: Protocol = {
  method: 'POST',
  path: '/v1/responses/compact',
  body: 'json',
  family: compatible,
  models: [],
  answer: call => {
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
  },
}
