// SPDX-License-Identifier: Apache-2.0 OR MIT

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;

/**
 * BothWays ADDRESS PORT: asks for bytes ("d") on one connection, sends bytes ("u") on another,
 * each in a thread, and says "ready". Ends with its standard input.
 */
final class BothWays {
    private interface Transfer {
        void run() throws IOException;
    }

    public static void main(String[] arguments) throws IOException {
        InputStream receiving = connect(arguments, 'd').getInputStream();
        OutputStream sending = connect(arguments, 'u').getOutputStream();
        start(() -> receive(receiving));
        start(() -> send(sending));
        System.out.println("ready");
        while (System.in.read() != -1) {
        }
        System.exit(0);
    }

    private static Socket connect(String[] arguments, char what) throws IOException {
        Socket socket = new Socket(arguments[0], Integer.parseInt(arguments[1]));
        socket.getOutputStream().write(what);
        return socket;
    }

    private static void receive(InputStream stream) throws IOException {
        byte[] buffer = new byte[65536];
        while (stream.read(buffer) != -1) {
        }
        throw new IOException("the server sends no more");
    }

    private static void send(OutputStream stream) throws IOException {
        byte[] buffer = new byte[65536];
        while (true) {
            stream.write(buffer);
        }
    }

    /** Whatever ends a transfer ends the program. */
    private static void start(Transfer transfer) {
        new Thread(() -> {
            try {
                transfer.run();
            } catch (IOException problem) {
                System.err.println(problem);
                System.exit(1);
            }
        }).start();
    }
}
