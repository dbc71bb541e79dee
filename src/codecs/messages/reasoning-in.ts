import type { Format, Left, ReasoningWish, TextRequest } from '../../core/text.js'
import { isBounded } from '../bounded.js'
import { isEffort } from '../effort.js'
import { invalid, type Reader } from '../read.js'

/** `thinking` and `output_config`: how much to think, what of it to show, and the form of the answer. */
export function readReasoning(body: Reader, left: Left[]): Pick<TextRequest, 'reasoning' | 'format'> {
  const config = body.object('output_config')
  const wish = { ...readThinking(body.object('thinking'), left), ...readEffort(config, left) }
  const off = body.object('thinking')?.string('type') === 'disabled'
  if (off && wish.effort !== 'none') {
    left.push({
      field: 'output_config.effort',
      why: 'in other protocols the effort is that of thinking, which is off',
    })
  }
  if (config?.has('task_budget')) left.push({ field: 'output_config.task_budget', why: 'only this protocol has it' })
  const format = config?.object('format') ?? body.object('output_format')
  // Clients of this protocol send signed thoughts back, and need them signed for that.
  const reasoning: ReasoningWish = off ? { effort: 'none' } : { ...wish, sealed: true }
  return {
    ...(Object.keys(wish).length > 0 && { reasoning }),
    ...(format !== undefined && { format: readFormat(format) }),
  }
}

function readThinking(thinking: Reader | undefined, left: Left[]): ReasoningWish {
  if (thinking === undefined) return {}
  if (thinking.has('block_binding')) {
    left.push({ field: thinking.path('block_binding'), why: 'only this protocol has it' })
  }
  const display = thinking.string('display')
  const type = thinking.required('type')
  const shown: ReasoningWish =
    display === 'omitted' ? { show: 'none' } : display === 'summarized' ? { show: 'auto' } : {}
  switch (type) {
    case 'enabled': {
      const budget = thinking.number('budget_tokens')
      if (budget === undefined) throw invalid(thinking.path('budget_tokens'), 'it is required')
      return { budget, ...shown }
    }
    case 'adaptive':
      return { adaptive: true, ...shown }
    case 'disabled':
      return { effort: 'none' }
    case 'between_tools':
      left.push({
        field: thinking.path('type'),
        why: 'other protocols cannot restrict thinking to between calls',
      })
      return { effort: 'minimal', ...shown }
    default:
      left.push({ field: thinking.path('type'), why: 'it is not known' })
      return {}
  }
}

function readEffort(config: Reader | undefined, left: Left[]): ReasoningWish {
  const effort = config?.string('effort')
  if (effort === undefined) return {}
  if (isEffort(effort)) return { effort }
  left.push({ field: 'output_config.effort', why: 'it is not known' })
  return {}
}

/** `{type: "json_schema", schema}`. */
function readFormat(format: Reader): Format {
  if (format.required('type') !== 'json_schema') throw invalid(format.path('type'), 'expected json_schema')
  const schema = format.object('schema')?.value
  if (schema === undefined) throw invalid(format.path('schema'), 'it is required')
  if (!isBounded(schema)) throw invalid(format.path('schema'), 'it is nested too deeply')
  return { type: 'schema', schema }
}
