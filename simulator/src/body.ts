import type { IncomingMessage } from 'node:http'
import { SimulatorError } from './errors.js'
import type { JsonObject } from './json.js'
import { isObject } from './json.js'

const MAX_BODY_BYTES = 64 * 1024 * 1024
const MAX_DEPTH = 200

const [QUOTE, BACKSLASH, OPEN_BRACE, CLOSE_BRACE, OPEN_BRACKET, CLOSE_BRACKET] = Buffer.from('"\\{}[]')

/** Reads a whole body; throws {@link SimulatorError} 413 where it is too large, anything else where the client went. */
export async function readBody(request: IncomingMessage, onChunk: (chunk: Buffer) => void): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += chunk.length
    onChunk(chunk)
    if (size > MAX_BODY_BYTES) throw tooLarge()
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** The JSON object in a body. Throws {@link SimulatorError} where there is none, or one that is nested too deeply. */
export function parseBody(body: Buffer): JsonObject {
  if (depth(body) > MAX_DEPTH) throw new SimulatorError(400, `The JSON body is nested deeper than ${MAX_DEPTH} levels.`)
  const value = parse(body)
  if (!isObject(value)) throw new SimulatorError(400, 'The JSON body of your request must be an object.')
  return value
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body))
  } catch {
    throw new SimulatorError(400, 'We could not parse the JSON body of your request. It must be valid JSON in UTF-8.')
  }
}

/** How deep brackets nest outside of strings. All structural characters are ASCII, so bytes will do. */
function depth(body: Buffer): number {
  let deepest = 0
  let open = 0
  let inString = false
  for (let at = 0; at < body.length; at += 1) {
    const byte = body[at]
    if (byte === QUOTE) inString = !inString
    else if (inString) at += byte === BACKSLASH ? 1 : 0
    else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) open += 1
    else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) open -= 1
    if (open > deepest) deepest = open
  }
  return deepest
}

function tooLarge(): SimulatorError {
  return new SimulatorError(413, `The request is larger than ${MAX_BODY_BYTES} bytes.`, {
    code: 'request_too_large',
    headers: { connection: 'close' },
  })
}
