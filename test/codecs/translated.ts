import { forceTool } from '../../src/codecs/forced-tool.js'
import { codecOf } from '../../src/codecs/index.js'
import type { TextCodec, Traits } from '../../src/core/codec.js'
import { GatewayError } from '../../src/core/errors.js'
import type { JsonObject } from '../../src/core/json.js'
import { Losses } from '../../src/translate/losses.js'
import type { Protocol } from '../helpers/text-clients.js'
import { plain } from './support.js'

export function textCodec(protocol: Protocol): TextCodec {
  const codec = codecOf(protocol)
  if (codec?.operation !== 'text') throw new Error(`no codec of ${protocol}`)
  return codec
}

/** A client's body in the words of an upstream of another protocol, and what the client is told was dropped. */
export function translated(
  from: Protocol,
  to: Protocol,
  body: JsonObject,
  traits: Traits = {},
): { body: JsonObject; dropped: readonly string[] } {
  const [server, client] = [textCodec(from), textCodec(to)]
  const request = server.server.decodeRequest(body, { model: 'm', stream: body.stream === true })
  const tables = { fields: server.server.fields, carries: client.client.carries }
  const losses = new Losses(tables, { body, inherited: 0 }, false)
  losses.left(request.left)
  const target = { model: 'up', traits: { max_output: 4096, ...traits }, lose: losses.lose }
  const sent = traits.structured === 'tool' ? forceTool(request, target) : request
  return { body: plain(client.client.encodeRequest(sent, target)) as JsonObject, dropped: losses.dropped }
}

/** The member that a refusal names. */
export function refused(from: Protocol, to: Protocol, body: JsonObject): string | undefined {
  try {
    translated(from, to, body)
  } catch (error) {
    if (error instanceof GatewayError && error.code === 'untranslatable') return error.details.param
    throw error
  }
  return undefined
}
