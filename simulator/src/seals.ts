import { createHash, createHmac } from 'node:crypto'

/** What a seal is for. One protocol's seal means nothing to another. */
export type Purpose =
  | 'messages.thinking'
  | 'messages.omitted'
  | 'messages.redacted'
  | 'converse.thinking'
  | 'generate.part'
  | 'responses.reasoning'
  | 'responses.compaction'

/** Known to every simulator, so that seals outlive the process that made them. */
const SECRET = 'the simulator seals what it thinks'
const DIGEST_BYTES = 32

/**
 * An opaque text that only a simulator makes: in base64, a digest of what is sealed and a code over the digest and the
 * purpose (HMAC, RFC 2104). It holds nothing of what is sealed.
 */
export function seal(purpose: Purpose, content: string): string {
  const digest = createHash('sha256').update(content).digest()
  return Buffer.concat([digest, code(purpose, digest)]).toString('base64')
}

/** Whether {@link seal} made this text for that purpose, from any content. */
export function isSealed(purpose: Purpose, sealed: string): boolean {
  const bytes = Buffer.from(sealed.slice(0, 4 * DIGEST_BYTES), 'base64')
  return (
    bytes.length === 2 * DIGEST_BYTES &&
    bytes.subarray(DIGEST_BYTES).equals(code(purpose, bytes.subarray(0, DIGEST_BYTES)))
  )
}

function code(purpose: Purpose, digest: Buffer): Buffer {
  return createHmac('sha256', SECRET).update(`${purpose}:`).update(digest).digest()
}
