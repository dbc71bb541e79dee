import { SimulatorError } from '../errors.js'

type Body = Readonly<Record<string, unknown>>

/** What a server of chats may lack, and how that shows in a request. */
const LACKS: Readonly<Record<string, (body: Body) => boolean>> = {
  developer: body => hasRole(body, 'developer'),
  system: body => hasRole(body, 'system'),
  max_tokens: body => body.max_tokens !== undefined,
  max_completion_tokens: body => body.max_completion_tokens !== undefined,
  sampling: body => body.temperature !== undefined || body.top_p !== undefined,
  schema: body => body.response_format !== undefined,
  tools: body => body.tools !== undefined,
  parallel: body => body.parallel_tool_calls !== undefined,
  effort: body => body.reasoning_effort !== undefined,
  stream: body => body.stream === true,
  stream_usage: body => body.stream_options !== undefined,
  images: body => hasPart(body, 'image_url'),
  audio: body => hasPart(body, 'input_audio'),
}

export const LACKING: readonly string[] = Object.keys(LACKS)

/** Throws {@link SimulatorError} if the request needs what the server lacks; words are joined by full stops. */
export function checkLacks(lacks: string, bytes: Buffer): void {
  const body = parsed(bytes)
  for (const word of lacks.split('.')) {
    if (LACKS[word]?.(body) !== true) continue
    const message = `This server has no support for '${word}'.`
    throw new SimulatorError(400, message, { param: word, code: 'unsupported_parameter' })
  }
}

function parsed(bytes: Buffer): Body {
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'))
    return typeof value === 'object' && value !== null ? (value as Body) : {}
  } catch {
    return {}
  }
}

function messagesOf({ messages }: Body): readonly Body[] {
  return Array.isArray(messages) ? messages.filter(one => typeof one === 'object' && one !== null) : []
}

function hasRole(body: Body, role: string): boolean {
  return messagesOf(body).some(message => message.role === role)
}

function hasPart(body: Body, type: string): boolean {
  return messagesOf(body).some(({ content }) => Array.isArray(content) && content.some(part => part?.type === type))
}
