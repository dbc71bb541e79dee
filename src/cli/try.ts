import { type Define, duration, example } from './command.js'
import { CommandError, EXIT, type Io } from './io.js'
import { readAll } from './read-all.js'
import { fileOf, type SourceOptions, takesSource, withVariables } from './source.js'
import type { Asked } from './trying/ask.js'
import type { Target } from './trying/target.js'

interface Options extends SourceOptions {
  readonly at?: string
  readonly key?: string
  readonly system?: string
  readonly image?: readonly string[]
  readonly audio?: readonly string[]
  readonly speak?: string
  readonly voice: string
  readonly draw?: string
  readonly edit?: string
  readonly transcribe?: string
  readonly embed?: boolean
  readonly rerank?: readonly string[]
  readonly moderate?: boolean
  readonly video?: string
  /** Milliseconds. */
  readonly wait?: number
}

/** How long a video is waited for. */
const DEFAULT_WAIT_MS = 30 * 60_000

/** Longest question from standard input. */
const MAX_TEXT_BYTES = 4 * 1024 * 1024

/** `gateway try`: one request, or a conversation, with a running gateway. */
export const tryCommand: Define = (parent, io, end) => {
  takesSource(parent.command('try'))
    .description('ask a model of a running gateway; without a text, chat on the terminal')
    .argument('<model>', 'name of the model, as clients use it')
    .argument('[text...]', 'the question; standard input if there is none')
    .option('--at <origin>', 'where the gateway is, instead of the address in the file')
    .option('--key <name>', 'name of a key of the file; by default one that may use the model, or $GATEWAY_KEY')
    .option('--system <text>', 'instructions to the model')
    .option('--image <file>', 'ask about an image; repeatable', append)
    .option('--audio <file>', 'ask about a sound (.wav, .mp3); repeatable', append)
    .option('--speak <file>', 'write the text as speech to a file')
    .option('--voice <name>', 'voice of --speak', 'alloy')
    .option('--draw <file>', 'write an image of the text to a file')
    .option('--edit <file>', 'with --draw: change this image by the text')
    .option('--transcribe <file>', 'print what is said in a file')
    .option('--embed', "print the text's embedding: dimensions and first numbers")
    .option('--rerank <document>', 'rank documents by the text; repeatable', append)
    .option('--moderate', 'print whether the text is flagged, and for what')
    .option('--video <file>', 'write a video of the text to a file, when it is done')
    .option('--wait <duration>', 'how long --video waits (default: 30m)', duration('a duration such as 10m'))
    .addHelpText(
      'after',
      example(
        'gateway try sim-text "Say hello."',
        'gateway try sim-text',
        'gateway try sim-speech "Good morning." --speak morning.mp3',
        'gateway try sim-rerank "Who wrote it?" --rerank "Ada." --rerank "Rain."',
      ),
    )
    .action(async (model: string, words: readonly string[], options: Options) => {
      end(await attempt(model, words.join(' '), options, await withVariables(io, options)))
    })
}

function append(file: string, before: readonly string[] = []): readonly string[] {
  return [...before, file]
}

/** What is done with the text, of which one is asked for at a time. */
const OPERATIONS = ['speak', 'draw', 'transcribe', 'embed', 'rerank', 'moderate', 'video'] as const

async function attempt(model: string, given: string, options: Options, io: Io): Promise<number> {
  const asked = OPERATIONS.filter(name => options[name] !== undefined)
  if (asked.length > 1)
    throw new CommandError(`give one of ${asked.map(name => `--${name}`).join(' and ')}: each is a request of its own`)
  if (options.edit !== undefined && options.draw === undefined)
    throw new CommandError('--edit wants --draw: the file for the changed image')
  const { targetOf } = await import('./trying/target.js')
  const target = await targetOf({ file: fileOf(undefined, options), at: options.at, keyName: options.key, model }, io)
  if (options.transcribe !== undefined)
    await (await import('./trying/media.js')).transcribe(target, model, options.transcribe, io)
  else if (asked.length > 0) await operate({ target, model, text: await textOf(given, io) }, options, io)
  else await chat(target, model, given, options, io)
  return EXIT.ok
}

async function operate(asked: Asked, { speak, voice, draw, edit, video, ...options }: Options, io: Io): Promise<void> {
  const { target, model, text } = asked
  const file = speak ?? draw ?? video
  if (file !== undefined) await (await import('./trying/media.js')).mustBeWritable(file)
  if (speak !== undefined) await (await import('./trying/media.js')).speak(target, model, text, speak, voice, io)
  else if (draw !== undefined) await (await import('./trying/media.js')).draw(asked, draw, edit, io)
  else if (video !== undefined)
    await (await import('./trying/video.js')).film(asked, video, options.wait ?? DEFAULT_WAIT_MS, io)
  else {
    const { embed, moderate, rerank } = await import('./trying/judgements.js')
    if (options.rerank !== undefined) await rerank(asked, options.rerank, io)
    else await (options.embed === true ? embed : moderate)(asked, io)
  }
}

async function chat(target: Target, model: string, given: string, options: Options, io: Io): Promise<void> {
  const { image = [], audio = [], system } = options
  const [{ attachments }, { chatOn, chatOnce }] = await Promise.all([
    import('./trying/attachments.js'),
    import('./trying/chat.js'),
  ])
  const begun = { model, system, parts: await attachments(image, audio) }
  if (given === '' && io.stdin.isTTY === true) await chatOn(target, begun, io)
  else await chatOnce(target, begun, await textOf(given, io), io)
}

async function textOf(given: string, io: Io): Promise<string> {
  if (given !== '') return given
  const read = (await readAll(io.stdin, MAX_TEXT_BYTES, `the text is larger than ${MAX_TEXT_BYTES} bytes`)).toString()
  if (read.trim() === '') throw new CommandError('give a text, or write one to standard input')
  return read
}
