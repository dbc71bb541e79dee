import { createHash, randomBytes } from 'node:crypto'
import { chmodSync, linkSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { hasFileModes } from '../core/platform.js'
import { Secret } from '../core/secret.js'

/** The data folder cannot keep a key; the message says which file, why, and what to do. */
export class KeyFileError extends Error {
  override readonly name = 'KeyFileError'
}

const PREFIX = 'gw-'
const SECRET_BYTES = 32
const MAX_NAME_CHARS = 120
// Mode bits that grant access to others than the owner.
const GROUP_AND_OTHERS_MODE = 0o077

/** A new key: 256 random bits in base64url behind `gw-`. */
export function newKey(): Secret {
  return new Secret(PREFIX + randomBytes(SECRET_BYTES).toString('base64url'))
}

/**
 * Reads the generated key of `name` from `<dataFolder>/keys/`; with `make`, creates it if there is none. Processes
 * that start at the same time on one folder agree on the key. If others could read the file, its permissions are
 * restricted and `note` is called.
 *
 * Throws {@link KeyFileError} if the file cannot be read or written.
 */
export function generatedKey(
  dataFolder: string,
  name: string,
  make: boolean,
  note: (line: string) => void = () => {},
): Secret | undefined {
  const file = keyFile(dataFolder, name)
  try {
    const kept = read(file, note)
    if (kept !== undefined || !make) return kept
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    create(file)
    return read(file, note)
  } catch (error) {
    if (error instanceof KeyFileError) throw error
    const reason = error instanceof Error && 'code' in error ? error.code : error
    throw new KeyFileError(`the key "${name}" cannot be kept in ${file} (${reason}); set its variable instead`)
  }
}

/** The file of the key of that name. */
export function keyFile(dataFolder: string, name: string): string {
  return join(dataFolder, 'keys', fileName(name))
}

/**
 * A file name for any key name, safe on file systems that ignore case: lower-case letters, digits, `-` and `_` are
 * kept, every other byte becomes %XX; a very long name becomes its digest.
 */
export function fileName(name: string): string {
  const escaped = Array.from(Buffer.from(name), escapedByte).join('')
  return escaped.length <= MAX_NAME_CHARS ? escaped : `%${createHash('sha256').update(name).digest('hex')}`
}

function escapedByte(byte: number): string {
  const character = String.fromCharCode(byte)
  return /[a-z0-9_-]/.test(character) ? character : `%${byte.toString(16).padStart(2, '0')}`
}

function read(file: string, note: (line: string) => void): Secret | undefined {
  let text: string
  try {
    tighten(file, note)
    text = readFileSync(file, 'utf8').trim()
  } catch (error) {
    if (isCode(error, 'ENOENT')) return undefined
    throw error
  }
  if (!/^[\x21-\x7e]+$/.test(text)) {
    throw new KeyFileError(`${file} does not contain a key; delete it to get a new one`)
  }
  return new Secret(text)
}

function tighten(file: string, note: (line: string) => void): void {
  const { mode } = statSync(file)
  if (!hasFileModes() || (mode & GROUP_AND_OTHERS_MODE) === 0) return
  chmodSync(file, 0o600)
  note(`${file} was readable by others; its mode is now 0600`)
}

/**
 * Writes the whole file under another name and then links it, so that readers always see a complete file. If two
 * processes create it at once, the link of one fails; this is how they agree.
 */
function create(file: string): void {
  const draft = `${file}.${randomBytes(6).toString('hex')}`
  writeFileSync(draft, `${newKey().reveal()}\n`, { flag: 'wx', mode: 0o600 })
  try {
    linkSync(draft, file)
  } catch (error) {
    if (!isCode(error, 'EEXIST')) throw error
  } finally {
    rmSync(draft, { force: true })
  }
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}
