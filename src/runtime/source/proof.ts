import { createHash, type KeyObject, verify } from 'node:crypto'
import { SourceFault } from './fault.js'

/** What a document must be before it is used. Without both, any is good. */
export interface Proof {
  /** sha256 in hex. */
  readonly digest?: string
  /** Ed25519. One of them must have signed the document. */
  readonly keys: readonly KeyObject[]
}

const SIGNATURE_BYTES = 64

/** Throws {@link SourceFault} where the document is not the declared one. */
export function prove({ digest, keys }: Proof, bytes: Buffer, signature: Buffer | undefined): void {
  const found = createHash('sha256').update(bytes).digest('hex')
  if (digest !== undefined && found !== digest)
    throw new SourceFault('refused', `its digest is sha256:${found}, and not the declared sha256:${digest}`)
  if (keys.length === 0) return
  const signed = signature === undefined ? undefined : signatureOf(signature)
  if (signed === undefined) throw new SourceFault('refused', 'its signature is not 64 bytes, plain or in base64')
  if (!keys.some(key => verify(null, bytes, key, signed)))
    throw new SourceFault('refused', 'its signature is not by any of the keys of --signed-by')
}

function signatureOf(written: Buffer): Buffer | undefined {
  if (written.length === SIGNATURE_BYTES) return written
  const decoded = Buffer.from(written.toString('latin1').trim(), 'base64')
  return decoded.length === SIGNATURE_BYTES ? decoded : undefined
}
