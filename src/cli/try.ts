import { type Define, example } from './command.js'
import { CommandError, EXIT, type Io } from './io.js'
import { readAll } from './read-all.js'
import { fileOf, type SourceOptions, takesSource, withVariables } from './source.js'

interface Options extends SourceOptions {
  readonly at?: string
  readonly key?: string
  readonly system?: string
  readonly image?: readonly string[]
  readonly audio?: readonly string[]
  readonly speak?: string
  readonly voice: string
  readonly draw?: string
  readonly transcribe?: string
}

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
    .option('--transcribe <file>', 'print what is said in a file')
    .addHelpText(
      'after',
      example(
        'gateway try sim-text "Say hello."',
        'gateway try sim-text',
        'gateway try sim-speech "Good morning." --speak morning.mp3',
      ),
    )
    .action(async (model: string, words: readonly string[], options: Options) => {
      end(await attempt(model, words.join(' '), options, await withVariables(io, options)))
    })
}

function append(file: string, before: readonly string[] = []): readonly string[] {
  return [...before, file]
}

async function attempt(model: string, given: string, options: Options, io: Io): Promise<number> {
  const { image = [], audio = [], speak: spoken, draw: drawn, transcribe: heard, system, voice } = options
  if ([spoken, drawn, heard].filter(one => one !== undefined).length > 1)
    throw new CommandError('give one of --speak, --draw and --transcribe')
  const { targetOf } = await import('./trying/target.js')
  const target = await targetOf({ file: fileOf(undefined, options), at: options.at, keyName: options.key, model }, io)
  if (heard !== undefined) await (await import('./trying/media.js')).transcribe(target, model, heard, io)
  else if (spoken !== undefined) {
    await (await import('./trying/media.js')).speak(target, model, await textOf(given, io), spoken, voice, io)
  } else if (drawn !== undefined) {
    await (await import('./trying/media.js')).draw(target, model, await textOf(given, io), drawn, io)
  } else {
    const [{ attachments }, { chatOn, chatOnce }] = await Promise.all([
      import('./trying/attachments.js'),
      import('./trying/chat.js'),
    ])
    const chat = { model, system, parts: await attachments(image, audio) }
    if (given === '' && io.stdin.isTTY === true) await chatOn(target, chat, io)
    else await chatOnce(target, chat, await textOf(given, io), io)
  }
  return EXIT.ok
}

async function textOf(given: string, io: Io): Promise<string> {
  if (given !== '') return given
  const read = (await readAll(io.stdin, MAX_TEXT_BYTES, `the text is larger than ${MAX_TEXT_BYTES} bytes`)).toString()
  if (read.trim() === '') throw new CommandError('give a text, or write one to standard input')
  return read
}
