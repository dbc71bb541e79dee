import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { suggest } from '../config/suggest.js'
import { packageRoot } from '../core/package-root.js'
import { type Define, example } from './command.js'
import { CommandError, EXIT, type Io } from './io.js'
import { check, invalid, printProblems } from './loading.js'
import { ownSchema } from './own-schema.js'

/** `gateway schema`: prints a JSON Schema, for editors and for the curious. */
export const schemaCommand: Define = (parent, io, end) => {
  parent
    .command('schema')
    .description('print a JSON Schema for editors; given a configuration file, it includes the names in that file')
    .argument(
      '[name]',
      '"gateway", "routes", "kind", the name of a request schema such as "chat.request", or a configuration file',
      'gateway',
    )
    .option('--list', 'list the schema names instead')
    .addHelpText(
      'after',
      example('gateway schema > gateway.schema.json', 'gateway schema gateway.yaml > gateway.schema.json'),
    )
    .action(async (name: string, options: { list?: boolean }) => {
      const schemas = await shipped()
      const isFile = !schemas.has(name) && /\.ya?ml$/.test(name)
      end(
        options.list
          ? printNames(schemas, io)
          : isFile
            ? await printOwn(name, io)
            : await printSchema(schemas, name, io),
      )
    })
}

/** File names by schema name, which is the file name without `.schema.json` or `.json`. */
async function shipped(): Promise<ReadonlyMap<string, string>> {
  const files = await readdir(join(packageRoot(), 'schemas'))
  const named = files.filter(file => file.endsWith('.json')).sort()
  return new Map(named.map(file => [file.replace(/(?:\.schema)?\.json$/, ''), file]))
}

function printNames(schemas: ReadonlyMap<string, string>, io: Io): number {
  io.stdout.write(`${[...schemas.keys()].join('\n')}\n`)
  return EXIT.ok
}

async function printSchema(schemas: ReadonlyMap<string, string>, name: string, io: Io): Promise<number> {
  const file = schemas.get(name)
  if (file === undefined) {
    const meant = suggest(name, schemas.keys())
    const hint = meant === undefined ? `there are ${[...schemas.keys()].join(', ')}` : `did you mean "${meant}"?`
    throw new CommandError(`no schema is called "${name}"; ${hint}`)
  }
  const text = await readFile(join(packageRoot(), 'schemas', file), 'utf8')
  io.stdout.write(text.endsWith('\n') ? text : `${text}\n`)
  return EXIT.ok
}

/** The schema of gateway.yaml with the names of a file, which has to be valid. */
async function printOwn(file: string, io: Io): Promise<number> {
  const { config, problems } = await check(file, io, 'assume')
  if (config === undefined) {
    await printProblems(problems, io.stderr, io)
    throw invalid(file)
  }
  const schema = JSON.parse(await readFile(join(packageRoot(), 'schemas', 'gateway.schema.json'), 'utf8'))
  io.stdout.write(`${JSON.stringify(ownSchema(schema, config), undefined, 2)}\n`)
  return EXIT.ok
}
