import { CLIENTS, curl, keywords, literal } from './code.js'

/** How the libraries call an operation; absent: they do not have it. */
const CALLS: Readonly<Record<string, string>> = {
  embeddings: 'embeddings.create',
  moderation: 'moderations.create',
  image: 'images.generate',
  edit: 'images.edit',
  speech: 'audio.speech.create',
  transcription: 'audio.transcriptions.create',
  video: 'videos.create',
}

interface Asked {
  readonly name: string
  readonly path: string
  readonly fields: object
  /** The name of the field that is a file. */
  readonly file: string | undefined
}

/** An operation as programs would ask for it. */
export function operationCode({ name, path, fields, file }: Asked, base: string): Readonly<Record<string, string>> {
  const call = CALLS[name]
  const programs = { curl: file === undefined ? curl(base, path, fields) : formCurl(base, path, fields, file) }
  if (call === undefined) return programs
  const python = `${keywords(fields)}${file === undefined ? '' : `    ${file}=open("FILE", "rb"),\n`}`
  const node =
    file === undefined ? literal(fields, 'js') : `{ ...${literal(fields, 'js')}, ${file}: fs.createReadStream('FILE') }`
  const isBytes = name === 'speech'
  const fs = file !== undefined || isBytes ? "import fs from 'node:fs'\n" : ''
  return {
    ...programs,
    'openai (Python)': `${CLIENTS.openaiPython(base)}answer = client.${call}(\n${python})\n${isBytes ? 'answer.write_to_file("speech.wav")' : 'print(answer)'}`,
    'openai (Node)': `${fs}${CLIENTS.openaiNode(base)}const answer = await client.${call}(${node})\n${isBytes ? "fs.writeFileSync('speech.wav', Buffer.from(await answer.arrayBuffer()))" : 'console.log(answer)'}`,
  }
}

function formCurl(base: string, path: string, fields: object, file: string): string {
  const parts = Object.entries(fields).map(
    ([name, value]) => ` \\\n  -F '${name}=${String(value).replaceAll("'", "'\\''")}'`,
  )
  return `curl '${base}${path}' \\\n  -H "authorization: Bearer $GATEWAY_KEY"${parts.join('')} \\\n  -F ${file}=@FILE`
}
