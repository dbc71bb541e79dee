import { Fields } from '../../families/fields.js'
import type { Call } from '../../protocol.js'
import type { Video } from './begin.js'
import { modelIn, readPrompt, secondsOf, sizeOf, textOf } from './request.js'

/** Relays take what any of the services behind them may know, and leave the rest to those. */
export function readRelayed({ body: object }: Pick<Call, 'body'>): Video {
  const body = new Fields(object)
  const prompt = readPrompt(body)
  return { model: modelIn(body), prompt, ...sizeIn(body), seconds: secondsIn(body) }
}

function sizeIn(body: Fields) {
  const [width, height] = [body.raw('width'), body.raw('height')]
  if (width !== undefined && height !== undefined) return sizeOf('width', `${width}x${height}`)
  return sizeOf('size', body.string('size') ?? '720x1280')
}

/** `seconds`, a text; or else `duration`, a number or a text. */
function secondsIn(body: Fields): number {
  const seconds = body.string('seconds')
  if (seconds !== undefined) return secondsOf('seconds', seconds)
  return secondsOf('duration', textOf('duration', body.raw('duration') ?? 4))
}
