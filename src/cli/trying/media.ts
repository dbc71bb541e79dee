import { access, constants, stat, writeFile } from 'node:fs/promises'
import { basename, dirname, extname, sep } from 'node:path'
import { isObject, type Json } from '../../core/json.js'
import { CommandError, EXIT, type Io, print, printableLines } from '../io.js'
import { readAll } from '../read-all.js'
import { type Asked, ask, askObject } from './ask.js'
import { bytesOf, imageType } from './attachments.js'
import type { Target } from './target.js'

/** Largest answer that is written to a file. */
const MAX_ANSWER_BYTES = 256 * 1024 * 1024
const TOO_LARGE = `the answer is larger than ${MAX_ANSWER_BYTES} bytes`
const SPEECH_FORMATS: readonly string[] = ['mp3', 'wav', 'opus', 'aac', 'flac', 'pcm']

/** The text as speech, in the format that the file's name says. */
export async function speak(
  target: Target,
  model: string,
  text: string,
  file: string,
  voice: string,
  io: Io,
): Promise<void> {
  const format = extname(file).slice(1).toLowerCase()
  if (!SPEECH_FORMATS.includes(format)) throw new CommandError(`${file} should end in .${SPEECH_FORMATS.join(', .')}`)
  const answer = await ask(target, '/v1/audio/speech', { model, input: text, voice, response_format: format })
  await keep(file, await bytesFrom(answer), io)
}

/** One image: of the text, or of another one that the text changes. */
export async function draw(asked: Asked, file: string, edited: string | undefined, io: Io): Promise<void> {
  const { target, model, text: prompt } = asked
  const made = await (edited === undefined
    ? askObject(target, '/v1/images/generations', { model, prompt, n: 1 })
    : askObject(target, '/v1/images/edits', await editForm(asked, edited)))
  const [image] = Array.isArray(made.data) ? (made.data as readonly Json[]) : []
  const { b64_json: data, url } = isObject(image ?? null) ? (image as { b64_json?: Json; url?: Json }) : {}
  if (typeof data === 'string') await keep(file, Buffer.from(data, 'base64'), io)
  else if (typeof url === 'string' && /^(https?|data):/.test(url)) await keep(file, await imageAt(url, target), io)
  else throw new CommandError('the answer has no image', EXIT.failed)
}

async function editForm({ model, text }: Asked, file: string): Promise<FormData> {
  const form = new FormData()
  form.set('model', model)
  form.set('prompt', text)
  form.set('image', new Blob([new Uint8Array(await bytesOf(file))], { type: imageType(file) }), basename(file))
  return form
}

/**
 * An image by its address: at the gateway itself, or anywhere in public. An upstream says it, and must not choose what is asked in
 * the network of who runs this.
 */
async function imageAt(address: string, { origin }: Target): Promise<Buffer> {
  const isOwn = URL.canParse(address) && new URL(address).origin === new URL(origin).origin
  if (!isOwn && !address.startsWith('data:'))
    return (await import('./public-file.js')).publicFile(address, MAX_ANSWER_BYTES)
  const got = await fetch(address, { redirect: 'manual' })
  if (!got.ok) throw new CommandError(`the image's address answered ${got.status}`, EXIT.failed)
  return await bytesFrom(got)
}

/** What is said in a file. */
export async function transcribe(target: Target, model: string, file: string, io: Io): Promise<void> {
  const form = new FormData()
  form.set('model', model)
  form.set('file', new Blob([new Uint8Array(await bytesOf(file))]), basename(file))
  const answer = await askObject(target, '/v1/audio/transcriptions', form)
  const text = typeof answer.text === 'string' ? answer.text : JSON.stringify(answer)
  print(io.stdout, printableLines(text))
}

/** What an answer holds. */
export function bytesFrom({ body }: Response): Promise<Buffer> {
  return readAll((body ?? []) as AsyncIterable<Uint8Array>, MAX_ANSWER_BYTES, TOO_LARGE)
}

/** Throws {@link CommandError} where a file could not be written: what is written there has its price. */
export async function mustBeWritable(file: string): Promise<void> {
  const found = await stat(file).catch(() => undefined)
  // By the separator a file in the path is an error.
  const place = found === undefined ? dirname(file) + sep : file
  const code = found?.isDirectory() === true ? 'EISDIR' : await access(place, constants.W_OK).catch(error => error.code)
  if (code !== undefined) throw notWritten(file, code)
}

function notWritten(file: string, code: string): CommandError {
  return new CommandError(`${file} cannot be written (${code})`, EXIT.failed)
}

/** Writes a file, and says so. */
export async function keep(file: string, bytes: Buffer, io: Io): Promise<void> {
  await writeFile(file, bytes).catch(error => {
    throw notWritten(file, error.code)
  })
  print(io.stdout, `${file}: ${bytes.length} bytes`)
}
