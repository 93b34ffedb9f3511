// Stands in for the client's program: it has the published type and method, and the kinds of names that a reader of
// metadata has to tell apart. The .exe beside it was made from it with: mcs -target:exe IMPlatformClient.cs
using System.Reflection;

[assembly: AssemblyVersion("5.8.0.0")]
[assembly: AssemblyFileVersion("5.8.1.307")]

namespace IMPP.Client.Core.Plugins.Manager
{
    public class AppContextManager
    {
        public void SendTxtMessageByJid(string jid, string text) { }
        public void SendTxtMessageByJid(string jid, string text, bool urgent) { }

        public class Queue
        {
            public void Flush() { }

            private class Item
            {
                public void 发送() { }
            }
        }
    }

    public interface ISender<T>
    {
        void Send(T message);
    }
}

namespace IMPP.Client.Other
{
    public class AppContextManager : IMPP.Client.Core.Plugins.Manager.ISender<string>
    {
        void IMPP.Client.Core.Plugins.Manager.ISender<string>.Send(string message) { }
        public T Echo<T>(T value) { return value; }
    }
}

class Program
{
    static void Main() { }
}
