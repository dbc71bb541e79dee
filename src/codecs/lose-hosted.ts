import type { Target } from '../core/codec.js'
import { GatewayError } from '../core/errors.js'
import type { HostedTool, TextRequest, Tool } from '../core/text.js'

/** Leaves out a tool for which the upstream has no counterpart. Throws `untranslatable` where the client forces it. */
export function loseHosted(
  tool: HostedTool,
  { tools, toolChoice }: Pick<TextRequest, 'tools' | 'toolChoice'>,
  target: Pick<Target, 'lose'>,
  field: 'hostedOther' | 'hostedCode' = 'hostedOther',
): undefined {
  const names = [tool.name, tool.value.name]
  const isAlone = tools.every(({ type }) => type === 'hosted')
  const isForced =
    (toolChoice?.type === 'tool' && names.includes(toolChoice.name)) ||
    (toolChoice?.type === 'required' && isAlone) ||
    (toolChoice?.type === 'subset' &&
      toolChoice.mode === 'required' &&
      toolChoice.names.every(one => names.includes(one)))
  if (isForced) {
    const message = `The model cannot be given 'tool_choice': it has no tools of the type '${tool.name}'.`
    throw new GatewayError('untranslatable', message, { param: 'tool_choice' })
  }
  target.lose(field, tool.at, `the model has no tools of the type '${tool.name}'`)
}

/** Names of a choice among tools, without those of tools that are known to another protocol than `protocol` alone. */
export function withoutLost(names: readonly string[], tools: readonly Tool[], protocol: string): readonly string[] {
  const lost = tools.filter(tool => tool.type === 'hosted' && tool.kind === 'other' && tool.of !== protocol)
  return lost.length === 0 ? names : names.filter(name => !lost.some(tool => tool.name === name))
}
