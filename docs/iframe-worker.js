// SPDX-License-Identifier: Apache-2.0
// Browsers run no worker from a page on disk, and the site's search is one: there its script runs in a hidden frame.
'use strict';

if (location.protocol === 'file:') {
  window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement('iframe');
      frame.hidden = true;
      document.body.append(frame);
      this.inside = frame.contentWindow;
      this.inside.postMessage = (data) => this.dispatchEvent(new MessageEvent('message', {data}));
      const load = (source) => new Promise((loaded, failed) => {
        const script = this.inside.document.createElement('script');
        Object.assign(script, {src: source, onload: loaded, onerror: failed});
        this.inside.document.body.append(script);
      });
      this.inside.importScripts = async (...sources) => {
        for (const source of sources) await load(source);
      };
      this.ready = load(new URL(url, document.baseURI).href);
    }

    async postMessage(data) {
      await this.ready;
      this.inside.dispatchEvent(new MessageEvent('message', {data}));
    }
  };
  window.Worker = window.IFrameWorker;
}
