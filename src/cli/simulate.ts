import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import type { Writable } from 'node:stream'
import { type Define, example, port } from './command.js'
import { CommandError, coloured, EXIT, type Io, paints, print } from './io.js'
import { nextSignal } from './signals.js'

interface Options {
  readonly port: number
  readonly host: string
  readonly log?: string
}

/** `gateway simulate`: the simulator as a process of its own, until a signal ends it. */
export const simulateCommand: Define = (parent, io, end) => {
  parent
    .command('simulate')
    .description('run the built-in simulator as its own process; prints a JSON line for each request it receives')
    .option('--port <number>', 'port to listen on; 0 picks a free one', port, 0)
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .option('--log <file>', 'append the lines to a file instead of printing them')
    .addHelpText('after', example('gateway simulate --port 9090', 'gateway simulate --port 9090 --log received.jsonl'))
    .action(async (options: Options) => end(await simulate(options, io)))
}

async function simulate(options: Options, io: Io): Promise<number> {
  const { startSimulator } = await import('#simulator')
  const lines = options.log === undefined ? io.stdout : await appendTo(options.log)
  const simulator = await startSimulator({
    port: options.port,
    host: options.host,
    log: entry => lines.write(`${JSON.stringify(entry)}\n`),
  }).catch((error: unknown) => {
    throw new CommandError(
      `the simulator cannot listen on ${options.host}:${options.port} (${reason(error)})`,
      EXIT.failed,
    )
  })
  const { bold } = paints(coloured(io.stderr, io.env))
  print(io.stderr, `simulator on ${bold(simulator.origin)}`)
  await nextSignal()
  await simulator.close()
  return EXIT.ok
}

async function appendTo(file: string): Promise<Writable> {
  const stream = createWriteStream(file, { flags: 'a', mode: 0o600 })
  try {
    await once(stream, 'open')
  } catch (error) {
    throw new CommandError(`${file} cannot be written (${reason(error)})`)
  }
  return stream
}

function reason(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : error
}
