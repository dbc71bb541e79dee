import type { Fields } from '../../families/fields.js'
import { invalid } from '../../families/messages.js'
import { effortFrom } from '../../families/options.js'
import type { Faults } from '../../faults/table.js'
import { isSealed, seal } from '../../seals.js'
import type { Block } from './blocks.js'
import type { Message } from './conversation.js'

/** How the model is to think. */
interface Thinking {
  readonly effort: string | undefined
  /** Whether the thoughts are left out of the answer, and only their signature sent. */
  readonly omitted: boolean
}

const EFFORTS = ['low', 'medium', 'high', 'xhigh', 'max'] as const
const MIN_BUDGET_TOKENS = 1024
const BUDGETS = [
  [16_384, 'high'],
  [4096, 'medium'],
  [0, 'low'],
] as const

/** Reads `thinking`, and refuses members that it excludes. */
export function readThinking(body: Fields, limit: number, faults: Faults): Thinking {
  const thinking = body.fields('thinking')
  const effort = body.fields('output_config')?.only(['effort', 'format']).oneOf('effort', EFFORTS)
  const type = thinking?.needOneOf('type', ['enabled', 'adaptive', 'disabled']) ?? 'disabled'
  const omitted = type !== 'disabled' && thinking?.oneOf('display', ['summarized', 'omitted']) === 'omitted'
  if (faults.reasoning) refuseSampling(body)
  if (thinking === undefined || type === 'disabled') return { effort: effortFrom(undefined, faults), omitted }
  checkBeside(body, type)
  if (type === 'adaptive') return { effort: effort ?? 'high', omitted }
  const budget = thinking.need('budget_tokens', thinking.integer)
  if (budget < MIN_BUDGET_TOKENS) throw thinkingOutside(`Input should be greater than or equal to ${MIN_BUDGET_TOKENS}`)
  if (budget >= limit) throw invalid('', '`max_tokens` must be greater than `thinking.budget_tokens`.')
  return { effort: BUDGETS.find(([least]) => budget >= least)?.[1], omitted }
}

function thinkingOutside(message: string) {
  return invalid('thinking.enabled.budget_tokens', message)
}

function refuseSampling(body: Fields): void {
  for (const name of ['temperature', 'top_p', 'top_k']) {
    if (body.raw(name) !== undefined) throw invalid('', `\`${name}\` is deprecated for this model.`)
  }
}

/** The adaptive way lets tools be forced. */
function checkBeside(body: Fields, type: 'enabled' | 'adaptive'): void {
  const choice = body.fields('tool_choice')?.raw('type')
  if (type === 'enabled' && (choice === 'any' || choice === 'tool')) {
    throw invalid('', 'Thinking may not be enabled when tool_choice forces tool use.')
  }
  if ((body.number('temperature') ?? 1) !== 1) {
    throw invalid('', '`temperature` may only be set to 1 when thinking is enabled.')
  }
  if (body.raw('top_k') !== undefined) throw invalid('', '`top_k` must be unset when thinking is enabled.')
}

/** What signs a thought, or one that is left out. */
export function signature(thought: string, omitted: boolean): string {
  return seal(omitted ? 'messages.omitted' : 'messages.thinking', thought)
}

/** The data of a thought that is not shown. */
export function redacted(thought: string): string {
  return seal('messages.redacted', thought)
}

/** Throws where a thought comes back changed, comes from elsewhere, or is missing from a turn that used tools. */
export function checkThoughts(messages: readonly Message[], body: Fields): void {
  for (const { role, blocks, path } of messages) {
    for (const [at, block] of blocks.entries()) checkThought(block, `${path}.content.${at}`)
    const last = blocks.at(-1)?.type
    if (role === 'assistant' && (last === 'thinking' || last === 'redacted_thinking')) {
      throw invalid(path, `The final block in an assistant message cannot be \`${last}\`.`)
    }
  }
  // Of the adaptive way no history is asked.
  if (body.fields('thinking')?.raw('type') === 'enabled') checkTurn(messages)
}

function checkThought({ type, fields }: Block, path: string): void {
  if (type === 'thinking') {
    const thought = fields.only(['type', 'thinking', 'signature']).need('thinking', fields.string)
    const signed = fields.need('signature', fields.string)
    const ours = signed === signature(thought, false) || (thought === '' && isSealed('messages.omitted', signed))
    if (!ours) throw invalid(path, 'Invalid `signature` in `thinking` block')
  } else if (type === 'redacted_thinking') {
    const data = fields.only(['type', 'data']).need('data', fields.string)
    if (!isSealed('messages.redacted', data)) throw invalid(path, 'Invalid `data` in `redacted_thinking` block')
  }
}

/** The present turn must begin with a thought: its first message after the user's last one. */
function checkTurn(messages: readonly Message[]): void {
  const spoken = messages.findLastIndex(
    ({ role, blocks }) => role === 'user' && blocks.some(({ type }) => type !== 'tool_result'),
  )
  const { role, blocks, path } = messages[spoken + 1] ?? {}
  const first = blocks?.[0]?.type
  if (role !== 'assistant' || first === 'thinking' || first === 'redacted_thinking') return
  throw invalid(
    `${path}.content.0.type`,
    `Expected \`thinking\` or \`redacted_thinking\`, but found \`${first ?? 'text'}\`. When \`thinking\` is enabled, a ` +
      'final `assistant` message must start with a thinking block (preceding the lastmost set of `tool_use` and ' +
      '`tool_result` blocks). To avoid this requirement, disable `thinking`.',
  )
}
