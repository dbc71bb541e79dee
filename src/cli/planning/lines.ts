import { StringDecoder } from 'node:string_decoder'

/** The lines of a stream, those of each chunk together; without those that are longer than so many characters, which are never held. */
export async function* linesOf(input: AsyncIterable<unknown>, most: number): AsyncGenerator<readonly string[]> {
  const decoder = new StringDecoder('utf8')
  let rest = ''
  let isTooLong = false
  for await (const chunk of input) {
    const [first = '', ...lines] = (typeof chunk === 'string' ? chunk : decoder.write(chunk as Buffer)).split('\n')
    rest = isTooLong ? '' : rest + first
    isTooLong ||= rest.length > most
    if (lines.length === 0) continue
    const whole = isTooLong ? [] : [rest]
    rest = lines.pop() ?? ''
    isTooLong = rest.length > most
    yield [...whole, ...lines.filter(line => line.length <= most)]
  }
  if (!isTooLong && rest !== '') yield [rest]
}
