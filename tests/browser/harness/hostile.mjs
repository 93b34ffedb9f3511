// Text that would run, load, lead away or turn the page around if anything let it.

import { CANARY } from "./browser.mjs";

/** For wherever a text may stand. None is longer than a name may be. */
export const hostile = [
  `<script>${CANARY}()</script>`,
  `"><img src=x onerror=${CANARY}()>`,
  `'><svg/onload=${CANARY}()>`,
  `</textarea></title></option></select><script>${CANARY}()</script>`,
  `<a href="javascript:${CANARY}()" autofocus onfocus=${CANARY}()>x</a>`,
  `" autofocus onfocus="${CANARY}()" x="`,
  `{{ ${CANARY}() }} \${${CANARY}()} <%= 1 %>`,
  `<base href="https://evil.example/"><meta http-equiv=refresh content="0;url=https://evil.example/">`,
  `<img src="https://evil.example/pixel"><link rel=stylesheet href="https://evil.example/s.css">`,
  `<div hx-get="https://evil.example/" hx-trigger="load" hx-on:load="${CANARY}()" data-hx-get=/console/logout>`,
  "\u202Eevil.exe\u202C \u2066\u200F\u061C سلام שלום",
];

/** One text with all of them. */
export const allHostile = hostile.join(" ");

/** HTML that tries what mail can. */
export const hostileHtml = `<html><head><style>@import url(https://evil.example/s.css); body { background: url(https://evil.example/b) }</style>
  <script src="https://evil.example/x.js"></script><script>parent.${CANARY}()</script></head>
  <body onload="parent.${CANARY}()" background="https://evil.example/bg">
  ${allHostile}
  <iframe src="javascript:parent.${CANARY}()"></iframe><object data="https://evil.example/o"></object>
  <form action="https://evil.example/" id=f><button formaction="javascript:top.${CANARY}()">press</button></form>
  <a href="https://evil.example/" target=_top>lead away</a><a href="javascript:top.${CANARY}()">run</a>
  <video poster="https://evil.example/p" src="https://evil.example/v" autoplay></video>
  <p style="background-image:url(https://evil.example/i);position:fixed">a paragraph of the mail</p></body></html>`;
