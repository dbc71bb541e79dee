import type { IncomingMessage, ServerResponse } from 'node:http'
import { GatewayError } from '../core/errors.js'
import { joined } from './translate/steps.js'

/** What a request said about its body before sending it. */
export function declaredLength(request: IncomingMessage): number | undefined {
  const header = request.headers['content-length']
  return header === undefined ? undefined : Number(header)
}

export function hasBody(request: IncomingMessage): boolean {
  return request.headers['transfer-encoding'] !== undefined || (declaredLength(request) ?? 0) > 0
}

export function tooLarge(limit: number): GatewayError {
  return new GatewayError('too_large', `The request body is larger than ${limit} bytes.`, { limit: 'body' })
}

/** Refuses a body that is declared to be over the limit before a byte of it is read; lets a waiting client begin. */
export function invite(request: IncomingMessage, response: ServerResponse, limit: number): void {
  const declared = declaredLength(request)
  if (declared !== undefined && declared > limit) throw tooLarge(limit)
  if (request.headers.expect !== undefined) response.writeContinue()
}

/**
 * The whole body, at most `limit` bytes. Each piece but that of a body in one piece is shown to `onPiece` as it arrives;
 * where that answers false, nothing is kept from then on, and an empty body comes out. A large one is put together in
 * steps, so that nothing holds the event loop for long. Rejects when the client breaks off.
 */
export function readBody(
  request: IncomingMessage,
  limit: number,
  onPiece: (piece: Buffer) => boolean,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    let kept = true
    request.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size > limit) {
        request.pause()
        reject(tooLarge(limit))
        return
      }
      if (chunks.length === 1 && chunks[0] !== undefined) kept = onPiece(chunks[0])
      if (chunks.length > 0 || !kept) kept = onPiece(chunk) && kept
      if (kept) chunks.push(chunk)
      else chunks.length = 0
    })
    request.on('end', () => {
      resolve(chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : joined(chunks, kept ? size : 0))
    })
    const gone = (): void => {
      // Node closes every request; only one that did not end was broken off.
      if (!request.complete) reject(new GatewayError('client_gone', 'The client went away.', { phase: 'upload' }))
    }
    request.on('error', gone)
    request.on('close', gone)
  })
}
