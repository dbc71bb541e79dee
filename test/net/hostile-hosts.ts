import type { RequestListener } from 'node:http'
import { sample } from './media-host.js'

const PNG = sample('image/png')
const PDF = sample('application/pdf')

/** Servers of media as they should be, and as they should not. */

export const png: RequestListener = (_request, response) => {
  response.writeHead(200, { 'content-type': 'image/png' }).end(PNG)
}

export const pdf: RequestListener = (_request, response) => {
  response.writeHead(200, { 'content-type': 'application/pdf' }).end(PDF)
}

/** Begins, and never ends. */
export const SLOW: RequestListener = (_request, response) => {
  response.writeHead(200, { 'content-type': 'image/png' })
  response.write(PNG)
}

/** What they do, what the client is told of it, and what of the limits has to be smaller to see it. */
export const HOSTILE: Readonly<Record<string, readonly [RequestListener, RegExp, string]>> = {
  'one that says that it is huge': [
    (_request, response) => {
      response.writeHead(200, { 'content-type': 'image/png', 'content-length': '99999999' }).end(PNG)
    },
    /it is too large/,
    '',
  ],
  'one that turns out to be huge': [
    (_request, response) => {
      response.writeHead(200, { 'content-type': 'image/png' })
      response.write(PNG)
      const more = (): void => {
        while (!response.destroyed && response.write(Buffer.alloc(16_384)));
        response.once('drain', more)
      }
      more()
    },
    /it is too large/,
    '',
  ],
  'a slow one': [SLOW, /it took too long/, ', timeout: 200ms'],
  'one that never answers': [() => undefined, /it took too long/, ', timeout: 200ms'],
  'a page': [
    (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/html' }).end('<p>hello</p>')
    },
    /it is not one of/,
    '',
  ],
  'something that only says that it is a picture': [
    (_request, response) => {
      response.writeHead(200, { 'content-type': 'image/png' }).end('root:x:0:0:root:/root:/bin/sh')
    },
    /it is not one of/,
    '',
  ],
  'a document in the place of a picture': [pdf, /not of type image/, ''],
  'a bomb': [
    (_request, response) => {
      response.writeHead(200, { 'content-type': 'image/png', 'content-encoding': 'gzip' }).end(PNG)
    },
    /compressed/,
    '',
  ],
  'one without end of redirects': [
    (_request, response) => {
      response.writeHead(302, { location: '/again' }).end()
    },
    /redirects too often/,
    '',
  ],
  'an error': [
    (_request, response) => {
      response.writeHead(500).end('secret of the inside')
    },
    /did not return a document/,
    '',
  ],
}
