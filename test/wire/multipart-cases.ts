import type { MultipartRule } from '../../src/wire/multipart-problems.js'

/** A body with the boundary `B`, and what a form with the control fields `model` and `stream` makes of it. */
export interface Case {
  readonly name: string
  /** Line breaks are written out. */
  readonly body: string
  /** Where it is sound: each part's name and value, or its file name in angle brackets. */
  readonly parts?: readonly (readonly [string, string])[]
  /** Where it is not: the rule that it breaks. */
  readonly rule?: MultipartRule
  readonly message?: RegExp
}

const MODEL = '--B\r\nContent-Disposition: form-data; name="model"\r\n\r\nsim\r\n'
const FILE =
  '--B\r\nContent-Disposition: form-data; name="file"; filename="a.wav"\r\nContent-Type: audio/wav\r\n\r\nRIFF\r\n'
const END = '--B--\r\n'

/** A part with this head, whose content is `x`. */
function part(head: string, content = 'x'): string {
  return `--B\r\n${head}\r\n\r\n${content}\r\n`
}

/** A part with this disposition. */
function disposed(parameters: string, content = 'x'): string {
  return part(`Content-Disposition: form-data; ${parameters}`, content)
}

const SOUND: readonly Case[] = [
  { name: 'a field and a file', body: MODEL + FILE + END, parts: [['model', 'sim'], ['file', '<a.wav>']] }, // biome-ignore format: pairs
  { name: 'the model behind the file', body: FILE + MODEL + END, parts: [['file', '<a.wav>'], ['model', 'sim']] }, // biome-ignore format: pairs
  { name: 'no line break behind the end', body: `${MODEL}--B--`, parts: [['model', 'sim']] },
  { name: 'a preamble and an epilogue', body: `pre\r\namble\r\n${MODEL}${END}epi\r\nlogue`, parts: [['model', 'sim']] },
  { name: 'an empty line before the first boundary', body: `\r\n${MODEL}${END}`, parts: [['model', 'sim']] },
  {
    name: 'padding behind the boundaries',
    body: `${MODEL.replace('--B', '--B \t ')}--B-- \t\r\n`,
    parts: [['model', 'sim']],
  },
  { name: 'no part at all', body: END, parts: [] },
  { name: 'an empty value', body: disposed('name="prompt"', '') + END, parts: [['prompt', '']] },
  { name: 'an empty file', body: disposed('name="file"; filename=""', '') + END, parts: [['file', '<>']] },
  {
    name: 'line breaks at both ends of a value',
    body: disposed('name="prompt"', '\r\n\r\n') + END,
    parts: [['prompt', '\r\n\r\n']],
  },
  {
    name: 'almost a boundary in a value',
    body: disposed('name="prompt"', '\r\n--A\r\n-B\n\r--B\r--B x--B') + END,
    parts: [['prompt', '\r\n--A\r\n-B\n\r--B\r--B x--B']],
  },
  {
    name: 'names without quotes, in odd case',
    body: part('CONTENT-disposition:FORM-DATA;NAME=model') + END,
    parts: [['model', 'x']],
  },
  {
    name: 'escaped quotes and semicolons',
    body: disposed('name="a\\"; b\\\\"; filename="\\"; name=\\"c\\""') + END,
    parts: [['a"; b\\', '<"; name="c">']],
  },
  { name: 'UTF-8 in names and values', body: disposed('name="größe"', '♫') + END, parts: [['größe', '♫']] },
  { name: 'a semicolon behind the last parameter', body: disposed('name="a" ; ') + END, parts: [['a', 'x']] },
  { name: 'an extended file name', body: disposed("name=file; filename*=utf-8''a%20b") + END, parts: [['file', '<>']] },
  { name: 'one name several times', body: disposed('name="image[]"') + disposed('name="image[]"', 'y') + END, parts: [['image[]', 'x'], ['image[]', 'y']] }, // biome-ignore format: pairs
  {
    name: 'a file without a type, in a header that is there',
    body:
      part('Content-Disposition: form-data; name="file"; filename="a.mp3"\r\nContent-Type: \r\nContent-Length: 1') +
      END,
    parts: [['file', '<a.mp3>']],
  },
  {
    name: 'media without a file name',
    body: part('Content-Disposition: form-data; name="file"\r\nContent-Type: audio/wav', '\r\n') + END,
    parts: [['file', '<>']],
  },
  {
    name: 'a control field with a charset of old',
    body:
      part(
        'Content-Disposition: form-data; name="model"\r\nContent-Type: text/plain; charset=ISO-8859-1\r\nContent-Transfer-Encoding: 8bit',
      ) + END,
    parts: [['model', 'x']],
  },
]

/** As HTTP libraries of other languages write them. */
const LIBRARIES: readonly Case[] = [
  {
    name: 'names without quotes and both forms of the file name',
    body: `${part('Content-Type: text/plain; charset=utf-8\r\nContent-Disposition: form-data; name=model')}${part(
      "Content-Type: audio/wav\r\nContent-Disposition: form-data; name=file; filename=a.wav; filename*=utf-8''a.wav",
    )}${END}`,
    parts: [
      ['model', 'x'],
      ['file', '<a.wav>'],
    ],
  },
  {
    name: 'parts that say their length',
    body: `${part('Content-Disposition: form-data; name="model"\r\nContent-Length: 1')}${END}`,
    parts: [['model', 'x']],
  },
  {
    name: 'a head in lower case, and an empty line behind the end',
    body: `${part(
      'content-type: text/plain; charset="UTF-8"\r\ncontent-transfer-encoding: binary\r\ncontent-disposition: form-data; name="model"',
    )}${END}\r\n`,
    parts: [['model', 'x']],
  },
]

const HOSTILE: readonly Case[] = [
  { name: 'nothing', body: '', rule: 'boundary', message: /does not occur/ },
  {
    name: 'another boundary',
    body: (MODEL + END).replaceAll('--B', '--A'),
    rule: 'boundary',
    message: /does not occur/,
  },
  { name: 'no closing boundary', body: MODEL + FILE, rule: 'truncated' },
  { name: 'an end within a head', body: '--B\r\nContent-Dispo', rule: 'truncated' },
  { name: 'an end within the closing boundary', body: `${MODEL}--B-`, rule: 'truncated' },
  { name: 'LF only', body: (MODEL + END).replaceAll('\r\n', '\n'), rule: 'line', message: /ends with LF;.*at byte 3/ },
  { name: 'LF only in a head', body: '--B\r\nA: b\n\n', rule: 'line' },
  { name: 'a boundary behind a lone LF', body: disposed('name="a"', `\n${MODEL}`) + END, rule: 'line' },
  { name: 'a boundary behind a lone LF in the preamble', body: `x\n${MODEL}${END}`, rule: 'line' },
  { name: 'CR only behind a boundary', body: '--B\rContent-Disposition: x', rule: 'line', message: /ends with CR;/ },
  {
    name: 'a boundary that goes on',
    body: `${disposed('name="a"')}--BC\r\n`,
    rule: 'boundary',
    message: /continues with/,
  },
  { name: 'a closing boundary that goes on', body: `${MODEL}--B--x\r\n`, rule: 'boundary' },
  {
    name: 'a boundary directly behind a head',
    body: `--B\r\nContent-Disposition: form-data; name=a\r\n\r\n${MODEL}${END}`,
    rule: 'boundary',
    message: /directly follows/,
  },
  { name: 'a part behind the end', body: MODEL + END + MODEL + END, rule: 'boundary', message: /follows the closing/ },
  {
    name: 'a second end directly behind the end',
    body: `${MODEL}${END}--B--`,
    rule: 'boundary',
    message: /follows the closing/,
  },
  { name: 'a part far behind the end', body: `${MODEL}${END}x\r\n${MODEL}${END}`, rule: 'boundary' },
  { name: 'a part without a head', body: '--B\r\n\r\nx\r\n--B--', rule: 'disposition' },
  { name: 'a part without a name', body: part('Content-Disposition: form-data') + END, rule: 'disposition' },
  { name: 'an attachment', body: part('Content-Disposition: attachment; name="a"') + END, rule: 'disposition' },
  { name: 'a name twice', body: disposed('name="a"; NAME="model"') + END, rule: 'disposition' },
  { name: 'an extended name', body: disposed('name="a"; name*=utf-8\'\'model') + END, rule: 'disposition' },
  { name: 'a name in pieces', body: disposed('name*0=mo; name*1=del') + END, rule: 'disposition' },
  { name: 'a quote that is left open', body: disposed('name="a; filename=b') + END, rule: 'disposition' },
  { name: 'more behind a quote', body: disposed('name="a"b') + END, rule: 'disposition' },
  { name: 'a comment in a name', body: disposed('name=mo(x)del') + END, rule: 'disposition' },
  {
    name: 'a name that is no UTF-8',
    body: disposed('name="a\u00ff"').replace('\u00ff', '\ufffe') + END,
    rule: 'disposition',
  },
  {
    name: 'two dispositions',
    body: part('Content-Disposition: form-data; name=a\r\ncontent-disposition: form-data; name=model') + END,
    rule: 'head',
    message: /more than one content-disposition/,
  },
  { name: 'a folded header', body: part('Content-Disposition: form-data;\r\n name=a') + END, rule: 'head' },
  { name: 'space before a colon', body: part('Content-Disposition : form-data; name=a') + END, rule: 'head' },
  { name: 'a line that is no header', body: part('hello') + END, rule: 'head' },
  { name: 'a NUL in a head', body: disposed('name="mo\0del"') + END, rule: 'head', message: /control character/ },
  {
    name: 'a DEL in a head',
    body: disposed('name="mo\x7fdel"') + END,
    rule: 'head',
    message: /control character/,
  },
  { name: 'a CR in a head', body: part('Content-Disposition: form-data; name=a\rX: y') + END, rule: 'head' },
  { name: 'two models', body: MODEL + FILE + MODEL + END, rule: 'duplicate', message: /'model' must occur only once/ },
  { name: 'a model in other case', body: disposed('name="Model"') + END, rule: 'variant' },
  { name: "an escape in the model's name", body: disposed('name="mo\\del"') + END, rule: 'variant' },
  { name: 'a percent escape in the name', body: disposed('name="%6dodel"') + END, rule: 'variant' },
  { name: 'a list of models', body: disposed('name="model[0]"') + END, rule: 'variant' },
  { name: 'space around the name', body: disposed('name=" model"') + END, rule: 'variant' },
  { name: 'a letter that folds', body: disposed('name="\u017ftream"') + END, rule: 'variant' },
  { name: 'a model that is a file', body: disposed('name="model"; filename="m"') + END, rule: 'control' },
  {
    name: 'a model in base64',
    body: part('Content-Disposition: form-data; name="model"\r\nContent-Transfer-Encoding: base64', 'c2lt') + END,
    rule: 'control',
  },
  {
    name: 'a model in UTF-16',
    body: part('Content-Disposition: form-data; name="model"\r\nContent-Type: text/plain; charset=utf-16') + END,
    rule: 'control',
  },
  { name: 'a model that is no UTF-8', body: disposed('name="model"', '\ufffe') + END, rule: 'control' },
  { name: 'too many parts', body: disposed('name=a').repeat(21) + END, rule: 'limit', message: /20 parts/ },
  {
    name: 'too many headers',
    body: part(`${'X: y\r\n'.repeat(10)}Content-Disposition: form-data; name=a`) + END,
    rule: 'limit',
    message: /10 headers/,
  },
  { name: 'a head without end', body: `--B\r\nX: ${'y'.repeat(3000)}`, rule: 'limit', message: /2000 bytes/ },
  { name: 'padding without end', body: `--B${' '.repeat(3000)}`, rule: 'limit' },
  {
    name: 'a field that is too long',
    body: disposed('name="prompt"', 'x'.repeat(1001)) + END,
    rule: 'limit',
    message: /1000 bytes/,
  },
  {
    name: 'fields that are too long together',
    body: disposed('name="a"', 'x'.repeat(900)).repeat(4) + END,
    rule: 'limit',
    message: /3000 bytes in all/,
  },
]

export const LIMITS = { parts: 20, head: 2000, headers: 10, field: 1000, fields: 3000 } as const

export const CASES: readonly Case[] = [...SOUND, ...LIBRARIES, ...HOSTILE]

/** The body of a case. U+FFFE means a byte that is not UTF-8. */
export function bytesOf({ body }: Case): Buffer {
  const [first = '', ...rest] = body.split('\ufffe')
  return Buffer.concat([Buffer.from(first), ...rest.flatMap(text => [Buffer.from([0xff]), Buffer.from(text)])])
}
