import { badArgument } from '../../families/native.js'
import { isSealed, seal } from '../../seals.js'
import type { Said, Speech } from './contents.js'

/** What clients may send instead of a signature, for calls that another model made. */
const PLACEHOLDERS = ['skip_thought_signature_validator', 'context_engineering_is_the_way_to_go']

/** The field is one of bytes, so libraries encode the placeholder (once, or over an encoded one) and others send it bare. */
const UNSIGNED = new Set(
  PLACEHOLDERS.flatMap(text => {
    const once = Buffer.from(text).toString('base64')
    return [text, once, Buffer.from(once).toString('base64')].map(bare)
  }),
)

/** The signature of a call, or of a text where there is no name. */
export function signatureOf(name?: string): string {
  return seal('generate.part', name === undefined ? 'text' : `call ${name}`)
}

/**
 * Throws if a signature comes from elsewhere or belongs to another part, and, for a model that thinks, where the first
 * call of a message of the present turn has none. The turn begins where the user last said something himself.
 */
export function checkSignatures(speeches: readonly Speech[], thinking: boolean): void {
  const parts = speeches.filter(({ role }) => role === 'model').flatMap(speech => speech.parts)
  for (const part of parts) checkSignature(part)
  if (!thinking) return
  const begun = speeches.findLastIndex(
    ({ role, parts }) => role === 'user' && parts.some(({ part }) => part?.type !== 'result'),
  )
  for (const speech of speeches.slice(begun + 1)) checkFirst(speech)
}

function checkSignature({ fields, part }: Said): void {
  const signature = fields.string('thoughtSignature')
  if (signature === undefined || UNSIGNED.has(bare(signature))) return
  const expected = signatureOf(part?.type === 'call' ? part.name : undefined)
  if (isSealed('generate.part', signature) && plain(signature) === plain(expected)) return
  throw badArgument('Thought signature is not valid.')
}

function checkFirst({ parts }: Speech): void {
  const first = parts.findIndex(({ part }) => part?.type === 'call')
  const said = parts[first]
  if (said?.part?.type !== 'call' || said.fields.raw('thoughtSignature') !== undefined) return
  throw badArgument(
    'Function call is missing a thought_signature in functionCall parts. This is required for tools to work ' +
      'correctly, and missing thought_signature may lead to degraded model performance. Additional data, function ' +
      `call \`${said.part.name}\`, position ${first + 1}.`,
  )
}

/** A base64 text without its padding, in the alphabet that most clients use. */
function bare(base64: string): string {
  return base64
    .replace(/(?<!=)=+$/, '')
    .replaceAll('-', '+')
    .replaceAll('_', '/')
}

/** In one alphabet, without padding. */
function plain(base64: string): string {
  return Buffer.from(base64, 'base64').toString('base64url')
}
